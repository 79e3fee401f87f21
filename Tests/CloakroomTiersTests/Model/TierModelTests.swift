import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomTierModel

/// A few hundred schedules of each run; `tier-model` runs as many as it is told.
@Suite(.serialized) struct TierModelTests {
    struct Failure: Error, CustomStringConvertible { var description: String }

    @Test(arguments: [UInt64.random(in: 0...999_999_999)])
    func `no schedule of devices, kills, clocks and faults loses a photo`(seed: UInt64) async throws {
        // It takes all of a process's tasks for itself: so it has one of its own.
        let run = try await ProgramRun(
            URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
                .appendingPathComponent("tier-model"),
            ["--schedules", "300", "--seed", String(seed)])
        guard run.end == .exited(0) else { throw Failure(description: run.output) }
    }

    @Test func `a seed makes the same steps each time, and other seeds make others`() {
        #expect(Schedule(seed: 7).steps == Schedule(seed: 7).steps)
        #expect(Set((0..<50).map { Schedule(seed: $0).steps }).count == 50)
    }

    @Test func `the shortest schedule has the steps alone that make it fail`() throws {
        let noise = (0..<40).map { Step.pass(hours: $0) }
        let add = Step.begin(device: 1, process: 0, .add(PhotoName(photo: 0, letter: 0)))
        var shrinker = Shrinker { steps in
            guard let first = steps.firstIndex(of: .wipe(device: 0)) else { return false }
            return steps[first...].contains { if case .begin(_, _, .add) = $0 { true } else { false } }
        }
        let steps = noise[..<9] + [add, .wipe(device: 0)] + noise[9...30] + [add, add] + noise[31...]
        let simplest = Step.begin(device: 0, process: 0, .add(PhotoName(photo: 0, letter: 0)))
        #expect(try shrinker.shrink(Array(steps)) == [.wipe(device: 0), simplest])
    }

    @Test func `the two photos of one MD5 are two`() {
        #expect(Photos.bytes[5] != Photos.bytes[6])
        #expect(Photos.keys[5] == Photos.keys[6])
        #expect(Photos.keys[5] == "79054025255fb1a26e4bc422aef54eb4")
        #expect(Set(Photos.keys).count == 6)
    }
}

/// The model by itself.
@Suite(.serialized) struct LedgerTests {
    private static let name = PhotoName(photo: 2, letter: 0)
    private static let date = Date(timeIntervalSince1970: 1_800_000_000)

    /// A device that has a photo, proven so many seconds ago; the store has it.
    private func ledger(provenBefore seconds: Double?) -> Ledger {
        var ledger = Ledger(devices: 1)
        ledger.added(Self.name, on: 0)
        #expect(ledger.check(local: [[2]], remote: [2], at: Self.date) == nil)
        if let seconds { ledger.proved(2, to: 0, at: Self.date - seconds) }
        return ledger
    }

    @Test func `a photo may leave by a fresh proof`() {
        var ledger = ledger(provenBefore: 86_400)
        #expect(ledger.check(local: [[]], remote: [2], at: Self.date) == nil)
        #expect(ledger.owned(by: 0) == [2])
    }

    @Test(
        arguments: [
            (nil, "photo 2 left device 0 without a proof"),
            (90_001, "photo 2 left device 0 by a proof that is 25 hours old"),
        ] as [(Double?, String)])
    func `a photo may not leave without one`(age: Double?, text: String) {
        var ledger = ledger(provenBefore: age)
        #expect(ledger.check(local: [[]], remote: [2], at: Self.date) == text)
    }

    @Test func `a photo may not leave for a store that has it no more`() {
        var ledger = ledger(provenBefore: 60)
        let wrong = ledger.check(local: [[]], remote: [], at: Self.date)
        #expect(wrong == "photo 2 left device 0 while the store did not have it")
    }

    @Test func `what a rule deletes after the proof is no loss by the devices`() {
        var ledger = ledger(provenBefore: 60)
        ledger.destroyed(2)
        #expect(ledger.check(local: [[]], remote: [], at: Self.date) == nil)
        #expect(ledger.owned(by: 0) == [])
    }

    @Test func `a deletion loses the photo of a device that has no file of it`() {
        var ledger = ledger(provenBefore: 60)
        #expect(ledger.check(local: [[]], remote: [2], at: Self.date) == nil)
        ledger.deleted(2)
        #expect(
            ledger.check(local: [[]], remote: [], at: Self.date)
                == "device 0 has lost photo 2: it is neither there nor in the store")
    }

    @Test func `pinned photos, open ones and those of a device that keeps everything stay`() {
        var pinned = ledger(provenBefore: 60)
        pinned.devices[0].holdings[2]?.isPinned = true
        #expect(pinned.check(local: [[]], remote: [2], at: Self.date) == "photo 2 left device 0, where it was pinned")
        var open = ledger(provenBefore: 60)
        open.devices[0].holdings[2]?.openFiles = 1
        #expect(open.check(local: [[]], remote: [2], at: Self.date) == "photo 2 left device 0, where it was open")
        var kept = ledger(provenBefore: 60)
        kept.devices[0].keepsEverything = true
        #expect(kept.check(local: [[]], remote: [2], at: Self.date) == "photo 2 left device 0, which keeps everything")
    }

    @Test func `a removed photo may go`() {
        var ledger = ledger(provenBefore: nil)
        ledger.removing(Self.name, on: 0)
        #expect(ledger.check(local: [[]], remote: [], at: Self.date) == nil)
    }
}
