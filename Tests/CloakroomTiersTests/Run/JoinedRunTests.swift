import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

/// Callers of one run, and calls that wait for its end.
@Suite(.serialized) struct JoinedRunTests {
    /// Holds each upload; that of a run which is cancelled meanwhile fails.
    private let uploads: Gate
    private let device: StoreFixture

    init() throws {
        let uploads = Gate()
        self.uploads = uploads
        device = try StoreFixture(gate: { call, moment in
            guard call.kind == .put, moment == .before else { return }
            guard await uploads.pass() else { throw CancellationError() }
        })
    }

    /// Of a caller that has left the run to others, or waits no longer.
    private static var cancelled: TieringReport {
        var report = TieringReport()
        report.stoppedBy = .cancelled
        return report
    }

    /// What a task gives while the run is held.
    private func value<Value: Sendable>(of task: Task<Value, Never>) async throws -> Value {
        let found = Mutex<Value?>(nil)
        Task {
            let value = await task.value
            found.withLock { $0 = value }
        }
        try await until { found.withLock { $0 != nil } }
        return try #require(found.withLock { $0 })
    }

    // MARK: Callers

    @Test func `a caller that is cancelled leaves the run to the others`() async throws {
        try await device.add("a")
        let store = device.store
        let first = Task { await store.run() }
        await uploads.arrival()
        let second = Task { await store.run() }
        try await until { await store.callerCount == 2 }
        second.cancel()
        #expect(try await value(of: second) == Self.cancelled)
        await uploads.open()
        let report = await first.value
        #expect(report.stoppedBy == nil)
        #expect(report.uploaded == 1)
    }

    @Test func `the caller that began a run leaves it to the others, and theirs is not cancelled`() async throws {
        try await device.add("a")
        let (store, ofFirst, ofSecond) = (device.store, Seen(), Seen())
        let first = Task { await store.run(progress: { ofFirst.add($0, $1) }) }
        await uploads.arrival()
        let second = Task { await store.run(progress: { ofSecond.add($0, $1) }) }
        try await until { await store.callerCount == 2 }
        first.cancel()
        #expect(try await value(of: first) == Self.cancelled)
        await uploads.open()
        let report = await second.value
        #expect(report.stoppedBy == nil)
        #expect(report.uploaded == 1)
        // Who has left is told no more.
        #expect(ofFirst.count == 0)
        #expect(ofSecond.last?.done == 1 && ofSecond.last?.total == 1)
    }

    @Test func `a run whose callers are all cancelled ends, and the next one goes on`() async throws {
        try await device.add("a")
        let store = device.store
        let callers = (0..<2).map { _ in Task { await store.run() } }
        await uploads.arrival()
        try await until { await store.callerCount == 2 }
        for caller in callers { caller.cancel() }
        for caller in callers { #expect(try await value(of: caller).stoppedBy?.code == .cancelled) }
        #expect(!device.isStored("a"))
        await uploads.open()
        #expect(await store.run().uploaded == 1)
    }

    @Test func `a call after the only caller was cancelled is not cancelled with it`() async throws {
        try await device.add("a")
        let store = device.store
        let first = Task { await store.run() }
        await uploads.arrival()
        first.cancel()
        async let second = store.run()
        await uploads.open()
        #expect(await second.stoppedBy == nil)
        #expect(device.isStored("a"))
        _ = await first.value
    }

    @Test func `a call that the progress of a run begins may join it`() async throws {
        try await device.add("a")
        await uploads.open()
        let store = device.store
        let call = Mutex<Task<TieringReport, Never>?>(nil)
        let report = await store.run(progress: { _, _ in
            let joining = Task { await store.run() }
            call.withLock { $0 = joining }
        })
        #expect(report.uploaded == 1)
        let joining = try #require(call.withLock { $0 })
        #expect(await joining.value.stoppedBy == nil)
    }

    // MARK: Calls that wait

    enum Call: CaseIterable, Sendable {
        case freeSpace, restoreAll, acceptAccount

        /// - Returns: why it ended.
        func end(in store: TieredPhotoStore) async -> CloakroomError.Code? {
            switch self {
            case .freeSpace: await store.freeSpace(.perform).stoppedBy?.code
            case .restoreAll: await store.restoreAll().stoppedBy?.code
            case .acceptAccount:
                await CloakroomError.code { try await store.acceptAccount(ScriptedTier.identity()) }
            }
        }
    }

    @Test(arguments: Call.allCases)
    func `a call that is cancelled does not wait for the end of a run, and the run goes on`(call: Call) async throws {
        try await device.add("a")
        let store = device.store
        let run = Task { await store.run() }
        await uploads.arrival()
        let waiting = Task { await call.end(in: store) }
        try await until { await store.waiters.count == 1 }
        waiting.cancel()
        #expect(try await value(of: waiting) == .cancelled)
        await uploads.open()
        let report = await run.value
        #expect(report.stoppedBy == nil)
        #expect(report.uploaded == 1)
        #expect(device.photoFiles.count == 1)
    }

    @Test func `a migration that is cancelled does not wait for the end of a run, and the run goes on`() async throws {
        try await device.add("a")
        let table = try LegacyTable()
        try table.insert("old", StoreFixture.bytes("old"), device.clock.now)
        let source = try BlobTableSource(table.file)
        let store = device.store
        let run = Task { await store.run() }
        await uploads.arrival()
        let migration = Task { try? await store.migrate(from: source) }
        try await until { await store.waiters.count == 1 }
        migration.cancel()
        let report = try #require(try await value(of: migration))
        #expect(report.stoppedBy?.code == .cancelled)
        #expect(report.imported == 1)
        await uploads.open()
        #expect(await run.value.stoppedBy == nil)
    }

    @Test func `a run that is wanted while space is freed comes after it, and is not stopped with it`() async throws {
        try await device.add("a")
        let store = device.store
        let freeing = Task { await store.freeSpace(.perform) }
        await uploads.arrival()
        let run = Task { await store.run() }
        try await until { await store.waiters.count == 1 }
        freeing.cancel()
        #expect(try await value(of: freeing).stoppedBy?.code == .cancelled)
        await uploads.open()
        let report = await run.value
        #expect(report.stoppedBy == nil)
        #expect(report.uploaded == 1)
        #expect(device.photoFiles.count == 1)
    }

    @Test func `what waits for a run is cancelled when the lock is given up, and does not take it`() async throws {
        try await device.add("a")
        let store = device.store
        let run = Task { await store.run() }
        await uploads.arrival()
        let freeing = Task { await store.freeSpace(.perform) }
        try await until { await store.waiters.count == 1 }
        try await store.releaseLock()
        #expect(try await value(of: freeing) == Self.cancelled)
        #expect(await run.value.stoppedBy?.code == .cancelled)
        #expect(await !store.isWriter)
    }

    @Test func `an account is accepted after a run that began during the look at it`() async throws {
        let (identities, uploads) = (Gate(), Gate())
        let device = try StoreFixture(gate: { call, moment in
            guard moment == .before else { return }
            if call.kind == .identity { await identities.pass() }
            if call.kind == .put { await uploads.pass() }
        })
        try await device.add("a")
        let store = device.store
        let acceptance = Task { await Call.acceptAccount.end(in: store) }
        await identities.arrival()
        let run = Task { await store.run() }
        await identities.letLastPass(of: 2)
        await uploads.arrival()
        await identities.open()
        try await until { await store.waiters.count == 1 }
        await uploads.open()
        #expect(await acceptance.value == nil)
        #expect(await run.value.stoppedBy == nil)
    }
}
