import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// One run at a time, and the ends of runs.
@Suite struct RenewalRunTests {
    private var app = RenewalFixture()

    init() { app.settings.batchSize = 2 }

    @Test func `a hundred callers share one run`() async throws {
        let gate = Gate()
        await app.renewer.respond { keys in
            _ = await gate.pass()
            return results(keys)
        }
        let manager = try app.manager(images(4))
        let reports = await withTaskGroup(of: RenewalReport.self) { group in
            for _ in 0..<100 { group.addTask { await manager.renewIfNeeded() } }
            try? await until { await app.renewer.batches.count == 1 }
            await gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(reports.filter { $0.renewed == 4 }.count + reports.filter { $0.notDue == 4 }.count == 100)
        #expect(await app.renewer.batches.count == 2)
        #expect(await app.renewer.mostInFlight == 1)
    }

    @Test func `a run in the background blocks nobody`() async throws {
        let manager = try app.manager(images(4))
        manager.startRenewal()
        try await until { await app.renewer.batches.count == 2 }
        #expect(await manager.renewIfNeeded().renewed + manager.renewIfNeeded().notDue >= 4)
        #expect(await app.renewer.batches.count == 2)
    }

    /// The first batch is answered; the second one hangs until its task is cancelled.
    private func hangAtSecondBatch() async {
        let gate = Gate()
        await app.renewer.respond { keys in
            if keys.contains("00002.bin"), await !gate.pass() { throw CloakroomError(.cancelled, "cancelled") }
            return results(keys)
        }
    }

    @Test func `a run that is cancelled keeps what it has recorded`() async throws {
        await hangAtSecondBatch()
        let manager = try app.manager(images(6))
        async let report = manager.renewIfNeeded()
        try await until { await app.renewer.batches.count == 2 }
        await manager.cancel()
        #expect(await report.end == .stopped)
        #expect(await report.error?.code == .cancelled)
        #expect(await report.renewed == 2)
        #expect(await report.notSent == 4)
        #expect(try await app.records().map(\.key) == ["00000.bin", "00001.bin"])
        await app.renewer.respond { results($0) }
        #expect(await manager.renewIfNeeded().renewed == 4)
    }

    /// The second batch of the first run hangs until its task is cancelled, and ends a while later.
    private func endSlowlyAtSecondBatch(_ hasEnded: Log<Bool>, seen: Log<Bool> = Log()) async {
        let gate = Gate()
        await app.renewer.respond { keys in
            guard keys.contains("00002.bin"), hasEnded.all.isEmpty else { return results(keys) }
            _ = await gate.pass()
            seen.append(true)
            for _ in 0..<1000 { await Task.yield() }
            hasEnded.append(true)
            throw CloakroomError(.cancelled, "cancelled")
        }
    }

    @Test func `cancelling returns when the run has ended`() async throws {
        let hasEnded = Log<Bool>()
        await endSlowlyAtSecondBatch(hasEnded)
        let manager = try app.manager(images(6))
        async let report = manager.renewIfNeeded()
        try await until { await app.renewer.batches.count == 2 }
        await manager.cancel()
        #expect(hasEnded.all == [true])
        #expect(await manager.callerCount == 0)
        #expect(await report.error?.code == .cancelled)
        await manager.cancel()
    }

    @Test(arguments: [false, true])
    func `who asks for a run while a cancelled one ends gets one of their own`(isForced: Bool) async throws {
        let (hasEnded, seen) = (Log<Bool>(), Log<Bool>())
        await endSlowlyAtSecondBatch(hasEnded, seen: seen)
        let manager = try app.manager(images(6))
        let first = Task { await manager.renewIfNeeded() }
        try await until { await app.renewer.batches.count == 2 }
        first.cancel()
        try await until { !seen.all.isEmpty }
        let second = isForced ? await manager.forceRenewal() : await manager.renewIfNeeded()
        #expect(await first.value.error?.code == .cancelled)
        #expect(second.end == .finished)
        #expect(second.renewed == (isForced ? 6 : 4))
        #expect(await app.renewer.mostInFlight == 1)
    }

    @Test func `the last caller that is cancelled takes the run along, the others do not`() async throws {
        await hangAtSecondBatch()
        let manager = try app.manager(images(6))
        let callers = (0..<3).map { _ in Task { await manager.renewIfNeeded() } }
        try await until { await app.renewer.batches.count == 2 }
        try await until { await manager.callerCount == 3 }
        callers[0].cancel()
        callers[2].cancel()
        try await until { await manager.callerCount == 1 }
        #expect(await app.renewer.mostInFlight == 1)
        callers[1].cancel()
        for caller in callers { #expect(await caller.value.error?.code == .cancelled) }
    }

    @Test func `a process that ends between two batches loses at most one`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var sent: [String: Int] = [:]
        for _ in 0..<20 {
            // Each launch has a manager and a store of its own, and ends while its second request is out.
            var launch = app
            launch.store = try SQLiteRenewalStore(at: folder.appendingPathComponent("renewals.db"), owner: .test)
            let counter = Log<Int>()
            await app.renewer.respond { keys in
                counter.append(0)
                if counter.all.count == 2 { throw CloakroomError(.cancelled, "the process ends") }
                return results(keys)
            }
            _ = try await launch.manager(images(10)).renewIfNeeded()
            for batch in await app.renewer.takeBatches() { for key in batch { sent[key, default: 0] += 1 } }
        }
        #expect(sent.count == 10)
        #expect(sent.values.allSatisfy { $0 <= 2 })
    }
}
