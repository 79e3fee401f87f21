import CloakroomAWS
import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomMessages

/// What is asked for while a purge is in progress.
@Suite struct ConcurrentPurgeTests {
    /// Holds the first batch that is handled.
    private struct HeldHandler: ExpiredMessageHandler {
        let gate = CallGate()

        func remove(_ messages: [MessageReference]) async throws { await gate.pass() }
    }

    private struct HeldVault: KeyVault {
        let vault = MemoryVault()
        let gate: CallGate

        func load() async throws -> Data? { try await vault.load() }
        func store(_ value: Data) async throws {
            await gate.pass()
            try await vault.store(value)
        }
        func erase() async throws { try await vault.erase() }
    }

    private let conversation = RetentionFixture.conversation

    /// A new store; its first key passes the gate.
    private static func begun(
        in folder: URL, _ vault: HeldVault, _ reading: RetentionClock.Reading
    ) async throws -> SQLiteMessageStorage {
        async let opened = SQLiteMessageStorage(folder: folder, vault: vault, reading: reading, step: { _ in })
        await vault.gate.letFirstPass(of: 1)
        return try await opened
    }

    @Test func `messages that are deleted while a purge puts keys out of reach are purged as well`() async throws {
        let device = try await RetentionFixture()
        await device.storage.close()
        try FileManager.default.removeItem(at: device.folder)
        let (folder, clocks, gate) = (device.folder, device.clocks, CallGate())
        // The vault takes the first key at once.
        let vault = HeldVault(gate: gate)
        let storage = try await Self.begun(in: folder, vault, clocks.reading)
        let retention = try await MessageRetention(
            of: RetentionFixture.own, storage: storage,
            runtime: RuntimeDependencies(wallClock: { clocks.reading.wall.date }, now: { clocks.instant }),
            read: { clocks.reading })
        try await retention.updateRetentionPolicy(.keep, in: conversation, applyingTo: .newMessages)
        _ = try await retention.admit([device.incoming("due", .oneHour), device.incoming("kept")])
        clocks.pass(.seconds(7200))

        async let purge = retention.purge()
        await gate.arrival()
        async let deletion = retention.deleteAll(in: conversation)
        while try await !retention.messages(in: conversation).isEmpty { await Task.yield() }
        await gate.open()
        #expect(try await purge.purgedCount == 1)
        #expect(try await deletion.purgedCount == 1)
        #expect(try device.count("message") == 0)
        await storage.close()
    }

    @Test func `the messages survive when they are closed during a rotation of the keys`() async throws {
        let device = try await RetentionFixture()
        await device.storage.close()
        try FileManager.default.removeItem(at: device.folder)
        let (folder, clocks, gate) = (device.folder, device.clocks, CallGate())
        let vault = HeldVault(gate: gate)
        func open() async throws -> (SQLiteMessageStorage, MessageRetention) {
            let storage = try await SQLiteMessageStorage(
                folder: folder, vault: vault, reading: clocks.reading, step: { _ in })
            let retention = try await MessageRetention(
                of: RetentionFixture.own, storage: storage,
                runtime: RuntimeDependencies(wallClock: { clocks.reading.wall.date }, now: { clocks.instant }),
                read: { clocks.reading })
            return (storage, retention)
        }
        async let opened = open()
        await gate.letFirstPass(of: 1)
        let (storage, retention) = try await opened
        try await retention.updateRetentionPolicy(.keep, in: conversation, applyingTo: .newMessages)
        _ = try await retention.admit([device.incoming("due", .oneHour), device.incoming("kept")])
        clocks.pass(.seconds(7200))
        let purge = Task { try await retention.purge() }
        await gate.arrival()
        let closing = Task { await storage.close() }
        for _ in 0..<100 { await Task.yield() }
        // Nobody else gets the folder before the vault and the files agree.
        await #expect(throws: CloakroomError.self) { _ = try await open() }
        await gate.open()
        await closing.value
        _ = try? await purge.value
        for id in ["second", "third"] {
            let (next, reopened) = try await open()
            #expect(await next.losses.isEmpty)
            _ = try await reopened.admit(device.incoming(id))
            #expect(try await reopened.messages(in: conversation).contains { $0.id.rawValue == "kept" })
            await next.close()
        }
    }

    @Test func `one of two that purge whenever it is time ends, and the other goes on`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let (first, second) = (
            Task { [retention = device.retention] in await retention.run() },
            Task { [retention = device.retention] in await retention.run() }
        )
        try await until { await device.retention.sleeps.count == 2 }
        second.cancel()
        await second.value
        #expect(await device.retention.sleeps.count == 1)
        let number = await device.retention.sleeps.keys.first
        try await device.admit("m1", .oneHour)
        try await until { await device.retention.sleeps.keys.first.map { $0 != number } ?? false }
        first.cancel()
        await first.value
    }

    @Test func `a purge that is cancelled does not cancel another caller's`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        _ = try await device.retention.admit((0..<600).map { try device.incoming("m\($0)", .oneHour) })
        device.clocks.pass(.seconds(7200))
        let handler = HeldHandler()
        let retention = try await device.retention(telling: handler)
        let first = Task { try await retention.purge() }
        await handler.gate.arrival()
        let second = Task { try await retention.purge() }
        for _ in 0..<100 { await Task.yield() }
        first.cancel()
        await handler.gate.open()
        let error = await #expect(throws: CloakroomError.self) { try await first.value }
        #expect(error?.code == .cancelled)
        #expect(try await second.value.isComplete)
        #expect(try device.count("message") == 0)
    }

    @Test func `a purge that waits for another one and is cancelled ends at once`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour)
        device.clocks.pass(.seconds(7200))
        let handler = HeldHandler()
        let retention = try await device.retention(telling: handler)
        let first = Task { try await retention.purge() }
        await handler.gate.arrival()
        let isOver = Mutex(false)
        let second = Task {
            let code = await CloakroomError.code { _ = try await retention.purge() }
            isOver.withLock { $0 = true }
            return code
        }
        for _ in 0..<100 { await Task.yield() }
        second.cancel()
        try await until { isOver.withLock { $0 } }
        #expect(await second.value == .cancelled)
        await handler.gate.open()
        #expect(try await first.value.purgedCount == 1)
        #expect(try device.count("message") == 0)
    }

    @Test func `purges whose callers are all cancelled end after the batch that is under way`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        _ = try await device.retention.admit((0..<600).map { try device.incoming("m\($0)", .oneHour) })
        device.clocks.pass(.seconds(7200))
        let handler = HeldHandler()
        let retention = try await device.retention(telling: handler)
        let first = Task { await CloakroomError.code { _ = try await retention.purge() } }
        await handler.gate.arrival()
        let second = Task { await CloakroomError.code { _ = try await retention.purge() } }
        for _ in 0..<100 { await Task.yield() }
        for purge in [first, second] { purge.cancel() }
        await handler.gate.open()
        for purge in [first, second] { #expect(await purge.value == .cancelled) }
        #expect(try device.count("message") > 0)
    }

    /// Notes how many of its calls overlap, and lets no message go.
    private actor FailingHandler: ExpiredMessageHandler {
        let gate = CallGate()
        private var running = 0
        private(set) var most = 0
        private(set) var count = 0

        func remove(_ messages: [MessageReference]) async throws {
            running += 1
            count += 1
            most = max(most, running)
            await gate.pass()
            for _ in 0..<50 { await Task.yield() }
            running -= 1
            throw CloakroomError(.storeFailed, "the index is locked")
        }
    }

    @Test func `purges that several callers wait for come one after the other`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour)
        device.clocks.pass(.seconds(7200))
        let handler = FailingHandler()
        let retention = try await device.retention(telling: handler)
        let first = Task { try await retention.purge() }
        await handler.gate.arrival()
        let others = (0..<4).map { _ in Task { try await retention.purge() } }
        for _ in 0..<100 { await Task.yield() }
        await handler.gate.open()
        for purge in [first] + others { #expect(try await purge.value.stoppedBy?.code == .storeFailed) }
        #expect(await handler.count == 5)
        #expect(await handler.most == 1)
    }

    /// Holds each erasure of the keys.
    private struct HeldErasure: KeyVault {
        let vault = MemoryVault()
        let gate = CallGate()

        func load() async throws -> Data? { try await vault.load() }
        func store(_ value: Data) async throws { try await vault.store(value) }
        func erase() async throws {
            await gate.pass()
            try await vault.erase()
        }
    }

    @Test func `an erasure removes no file of a folder that was given back meanwhile`() async throws {
        let device = try await RetentionFixture()
        await device.storage.close()
        try FileManager.default.removeItem(at: device.folder)
        let (clocks, vault) = (device.clocks, HeldErasure())
        let storage = try await SQLiteMessageStorage(
            folder: device.folder, vault: vault, reading: clocks.reading, step: { _ in })
        let retention = try await MessageRetention(
            of: RetentionFixture.own, storage: storage, read: { clocks.reading })
        let erasure = Task { await CloakroomError.code { try await retention.eraseEverything() } }
        await vault.gate.letFirstPass(of: 1)
        // The keys are erased once more before the files.
        await vault.gate.arrival()
        await storage.release()
        await vault.gate.open()
        #expect(await erasure.value == .storeFailed)
        let database = device.folder.appendingPathComponent("messages.sqlite").path
        #expect(FileManager.default.fileExists(atPath: database))
    }

    @Test func `an erasure begins no database in a folder that was given back meanwhile`() async throws {
        let device = try await RetentionFixture()
        await device.storage.close()
        try FileManager.default.removeItem(at: device.folder)
        let (folder, clocks, gate) = (device.folder, device.clocks, CallGate())
        let vault = HeldVault(gate: gate)
        let storage = try await Self.begun(in: folder, vault, clocks.reading)
        let retention = try await MessageRetention(
            of: RetentionFixture.own, storage: storage, read: { clocks.reading })
        let erasure = Task { await CloakroomError.code { try await retention.eraseEverything() } }
        // The files are removed, and the vault is to take the new key.
        await gate.arrival()
        await storage.release()
        await gate.open()
        #expect(await erasure.value == .storeFailed)
        let database = folder.appendingPathComponent("messages.sqlite").path
        #expect(!FileManager.default.fileExists(atPath: database))
        // The next launch completes it.
        let next = try await SQLiteMessageStorage(
            folder: folder, vault: vault, reading: clocks.reading, step: { _ in })
        _ = try await MessageRetention(of: RetentionFixture.own, storage: next, read: { clocks.reading })
        #expect(await !next.isErasing)
        await next.close()
    }
}

extension RetentionFixture {
    /// Another one with the same storage.
    fileprivate func retention(telling handler: any ExpiredMessageHandler) async throws -> MessageRetention {
        let clocks = clocks
        return try await MessageRetention(
            of: Self.own, storage: storage, handlers: [handler], chatKeyPrefix: "chat/", read: { clocks.reading })
    }
}
