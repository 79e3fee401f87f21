import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// Launches that are killed at every point of what a device does, twice in a row.
@Suite(.serialized) struct MessageCrashTests {
    private static let all = (0..<30).map { "m\($0)" }
    private static let hour = all.indices.filter { $0 % 3 == 0 }.map { all[$0] }

    @Test func `killed at any point of admitting, each message is there once or not at all`() async throws {
        try await MessageCrashFolder.with { folder in
            try await folder.killEverywhere("admit", after: 0, atLeast: 40, stride: 7) { folder, storage, retention in
                let shown = try await retention.shown()
                #expect(shown == Self.all)
                #expect(await storage.losses == [])
            }
        }
    }

    @Test func `killed at any point of a purge, what is over goes, and nothing else`() async throws {
        try await MessageCrashFolder.with { folder in
            try await folder.launch("admit", after: 0)
            let bodies = try folder.sealedBodies()
            try await folder.killEverywhere("purge", after: 4000, atLeast: 20) { folder, storage, retention in
                let shown = try await retention.shown()
                #expect(shown == Self.all.filter { !Self.hour.contains($0) })
                #expect(folder.handled == Set(Self.hour))
                #expect(await storage.count("SELECT count(*) FROM \(RetentionFixture.tombstones)") == 10)
                #expect(await storage.count("SELECT count(*) FROM release") == 2)
                #expect(await storage.count("SELECT count(*) FROM attachment WHERE file IS NOT NULL") == 3)
                #expect(folder.attachmentCount == 3)
                try await folder.expectNoRemnants(of: Self.hour, bodies, storage)
                for id in Self.hour {
                    #expect(try await retention.admit(folder.incoming(id)) == .replay)
                }
            }
        }
    }

    @Test func `killed at any point of a shorter policy, all ends that is over by it`() async throws {
        try await MessageCrashFolder.with { folder in
            try await folder.launch("admit", after: 0)
            let bodies = try folder.sealedBodies()
            // Half an hour longer than the policy, and nobody has purged.
            try await folder.killEverywhere("shorten", after: 5400, atLeast: 20) { folder, storage, retention in
                #expect(try await retention.shown() == [])
                #expect(await storage.count("SELECT count(*) FROM message") == 0)
                #expect(folder.attachmentCount == 0)
                #expect(folder.handled == Set(Self.all))
                try await folder.expectNoRemnants(of: Self.all, bodies, storage)
            }
        }
    }

    @Test func `killed at any point of deleting all, all goes`() async throws {
        try await MessageCrashFolder.with { folder in
            try await folder.launch("admit", after: 0)
            let bodies = try folder.sealedBodies()
            try await folder.killEverywhere("delete", after: 60, atLeast: 20) { folder, storage, retention in
                #expect(await storage.count("SELECT count(*) FROM message") == 0)
                #expect(folder.attachmentCount == 0)
                try await folder.expectNoRemnants(of: Self.all, bodies, storage)
                #expect(try await retention.admit(folder.incoming("m2")) == .replay)
            }
        }
    }

    @Test func `killed while messages are in memory, their handlers and the bucket are told all the same`() async throws
    {
        try await MessageCrashFolder.with { folder in
            try await folder.killEverywhere("memory", after: 0, atLeast: 12) { folder, storage, _ in
                #expect(folder.handled == Set((0..<5).map { "s\($0)" }))
                #expect(await storage.count("SELECT count(*) FROM release WHERE retry_at = 0") == 5)
                #expect(await storage.count("SELECT count(*) FROM memory_note") == 0)
                #expect(await storage.count("SELECT count(*) FROM message") == 0)
            }
        }
    }

    @Test func `killed at any point of erasing everything, a new beginning is possible and nothing is left`()
        async throws
    {
        try await MessageCrashFolder.with { folder in
            try await folder.launch("admit", after: 0)
            let bodies = try folder.sealedBodies()
            try await folder.killEverywhere("erase", after: 60, atLeast: 6) { folder, storage, retention in
                #expect(await storage.count("SELECT count(*) FROM message") == 0)
                #expect(folder.attachmentCount == 0)
                try await folder.expectNoRemnants(of: Self.all, bodies, storage)
                try await retention.updateRetentionPolicy(
                    .keep, in: RetentionFixture.conversation, applyingTo: .newMessages)
                guard case .kept = try await retention.admit(folder.incoming("m1")) else {
                    Issue.record("a message was not admitted")
                    return
                }
            }
        }
    }

    @Test func `killed at any point of a migration, each message is there once, and no file of the older app`()
        async throws
    {
        try await MessageCrashFolder.with { folder in
            let older = try OlderApp(in: folder.url)
            let now = Milliseconds(MessageCrashFolder.begin * 1000)
            // More than are stored in one transaction, and some that are over.
            try older.write("c1", (0..<300).map { older.message("a\($0)", sentAt: now - 1000, isOwn: $0 % 2 == 0) })
            try older.write("c2", (0..<9).map { older.message("b\($0)", sentAt: now - Milliseconds($0) * .day / 4) })
            try await folder.killEverywhere("migrate", after: 0, atLeast: 20, stride: 2) { folder, storage, retention in
                let shown = try await retention.shown()
                #expect(shown == (0..<300).map { "a\($0)" })
                #expect(await storage.count("SELECT count(*) FROM message") == 304)
                #expect(await storage.count("SELECT count(*) FROM message WHERE author = 'own'") == 150)
                #expect(try OlderApp(in: folder.url).names == [])
            }
        }
    }
}

extension MessageRetention {
    fileprivate func shown() async throws -> [String] {
        try await messages(in: RetentionFixture.conversation, limit: 1000).reversed().map(\.id.rawValue)
    }
}

extension SQLiteMessageStorage {
    fileprivate func count(_ sql: String) -> Int64 {
        (try? database.database.first(sql) { $0.integer(0) }) ?? -1
    }
}

extension MessageCrashFolder {
    fileprivate var attachmentCount: Int {
        let path = messages.appendingPathComponent("attachments").path
        return (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? -1
    }

    /// As the program has them: messages with images are this user's.
    private static func author(of id: String) -> ParticipantID {
        (Int(id.dropFirst()) ?? 0) % 5 == 0 ? RetentionFixture.own : RetentionFixture.peer
    }

    fileprivate func incoming(_ id: String) throws -> IncomingMessage {
        IncomingMessage(
            id: try id.asMessage, sender: AuthenticatedSender(Self.author(of: id), in: RetentionFixture.conversation),
            stamp: MessageStamp(policy: .keep), body: Data("again".utf8))
    }

    /// No file has a body that the keys of now open.
    fileprivate func expectNoRemnants(
        of ids: [String], _ bodies: [SealedBody], _ storage: SQLiteMessageStorage
    ) async throws {
        let gone = bodies.filter { ids.contains($0.id) }
        #expect(gone.count == ids.count)
        let keys = await storage.keyTable
        #expect(try Remnants.found(gone, in: messages).filter { $0.opens(with: [keys]) } == [])
    }

    /// Kills a scenario at each of its points, the next launch at another one, and lets the third come to its end.
    ///
    /// - Parameters:
    ///   - count: of points, that there are surely.
    ///   - stride: between the points, where there are many alike.
    ///   - expectations: of what the third launch leaves.
    fileprivate func killEverywhere(
        _ scenario: String, after seconds: Int64, atLeast count: Int, stride: Int = 1,
        _ expectations: (MessageCrashFolder, SQLiteMessageStorage, MessageRetention) async throws -> Void
    ) async throws {
        var point = 1
        while true {
            let end = try await withCopy { folder in
                let end = try await folder.launch(scenario, killedAt: point, after: seconds)
                try await folder.launch(scenario, killedAt: point * 7 % 19 + 1, after: seconds + 100)
                #expect(try await folder.launch(scenario, after: seconds + 200) == .finished)
                let (storage, retention) = try await folder.open(after: seconds + 300)
                try await expectations(folder, storage, retention)
                await storage.close()
                return end
            }
            if end == .finished { break }
            point += stride
        }
        #expect(point > count, "\(scenario) has \(point - 1) points")
    }
}
