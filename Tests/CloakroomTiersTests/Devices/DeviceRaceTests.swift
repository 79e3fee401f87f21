import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

/// Two devices that add, let go and remove the same photos at the same time; which request comes next is random.
@Suite(.serialized) struct DeviceRaceTests {
    @Test func `no order of two devices' requests loses a photo that one of them has let go`() async throws {
        for seed in 0..<100 {
            let lost = try await lostPhotos(seed: UInt64(seed), .asItIs)
            #expect(lost.isEmpty, "seed \(seed)")
        }
    }

    /// The other device announces, deletes two days later, and withdraws its announcement when that is over, after one
    /// request of this one.
    @Test(arguments: TestDevice.Order.allCases, [TierCall.Kind.putDocument, .documents, .verify])
    func `a proof from before the announcements are read loses a photo, the order as it is loses none`(
        order: TestDevice.Order, moment: TierCall.Kind
    ) async throws {
        let store = ScriptedStore()
        let interruption = Interruption()
        let photo = TestPhoto(1)
        let first = try TestDevice("a", store)
        let second = try TestDevice("b", store, gate: interruption.gate)
        try await first.add(photo)
        try await first.evict([photo])
        try await first.remove(photo)
        try await first.publish()
        interruption.set(on: moment) {
            for _ in 0..<8 {
                _ = try await first.advance()
                store.clock.pass(50 * 3600)
            }
        }
        try await second.add(photo)
        try await second.evict([photo], order)
        let isLost = try await second.photos(in: [.cold]).contains(photo.md5) && !store.hasObject(photo)
        let isWrong = order == .proofFirst && moment == .verify
        #expect(isLost == isWrong)
    }

    private func lostPhotos(seed: UInt64, _ order: TestDevice.Order) async throws -> [TestPhoto] {
        let store = ScriptedStore()
        let scheduler = Scheduler(seed: seed, tasks: 2)
        let photos = [TestPhoto(1), TestPhoto(2)]
        let devices = try ["a", "b"].map { name in
            try TestDevice(
                name, store,
                gate: { call, moment in
                    if moment == .before, call.kind != .identity { await scheduler.pass() }
                })
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, device) in devices.enumerated() {
                group.addTask {
                    var generator = SeededGenerator(seed: seed &* 31 &+ UInt64(number))
                    for _ in 0..<14 {
                        let photo = photos.randomElement(using: &generator) ?? TestPhoto(1)
                        switch Int.random(in: 0..<8, using: &generator) {
                        case 0, 1: try await device.add(photo)
                        case 2: try await device.remove(photo)
                        case 3, 4: try await device.evict([photo], order)
                        case 5, 6: _ = try await device.advance()
                        default: store.clock.pass(50 * 3600)
                        }
                        await scheduler.pass()
                    }
                    await scheduler.finish()
                }
            }
            try await group.waitForAll()
        }
        var lost: [TestPhoto] = []
        for device in devices {
            let cold = try await device.photos(in: [.cold])
            lost += photos.filter { cold.contains($0.md5) && !store.hasObject($0) }
        }
        return lost
    }
}

/// Lets one of the tasks that wait go on, at random, as soon as all of them wait.
private actor Scheduler {
    private var generator: SeededGenerator
    private var running: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(seed: UInt64, tasks: Int) {
        generator = SeededGenerator(seed: seed)
        running = tasks
    }

    func pass() async {
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            finish()
        }
    }

    func finish() {
        running -= 1
        guard running == 0, !waiting.isEmpty else { return }
        running = 1
        waiting.remove(at: Int.random(in: waiting.indices, using: &generator)).resume()
    }
}
