import CloakroomKit
import CloakroomKitTestSupport
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Synchronization
import Testing

/// A disk that is really full, from any step of a purge on.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible)) struct FullDiskTests {
    /// Fills a disk once, at a step.
    private final class Filling: Sendable {
        private let point: Mutex<PurgeStep?>
        private let disk: SmallDisk

        init(_ disk: SmallDisk, at point: PurgeStep) {
            self.disk = disk
            self.point = Mutex(point)
        }

        func cross(_ step: PurgeStep) throws {
            let isNow = point.withLock { point in
                guard point == step else { return false }
                point = nil
                return true
            }
            if isNow { try disk.fill() }
        }

        var isDone: Bool { point.withLock { $0 == nil } }
    }

    @Test(arguments: PurgeStep.all)
    func `a disk that is full from a step of the purge on keeps nothing from being gone in the end`(
        step: PurgeStep
    ) async throws {
        let disk = try SmallDisk(byteCount: 4 << 20)
        defer { disk.unmount() }
        let filling = Filling(disk, at: step)
        let device = try await OpenDevice(in: disk.url, step: { try filling.cross($0) })
        try await device.keepAll()
        // Each needs a page for itself.
        let due = (0..<60).map { "due \($0)" }
        _ = try await device.retention.admit(due.map { try OpenDevice.message($0, .oneHour, byteCount: 4000) })
        _ = try await device.retention.admit(OpenDevice.message("live", .oneWeek))
        try await device.retention.admit(
            IncomingMessage(
                id: "file".asMessage,
                sender: AuthenticatedSender(RetentionFixture.own, in: RetentionFixture.conversation),
                stamp: MessageStamp(policy: .oneHour), body: Data("a file".utf8),
                attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        ).expectKept()
        try await device.retention.keepAttachment(Data(count: 50_000), at: 0, of: "file".asOwn)
        // Beyond the end of the slot, so that its key goes too.
        device.clocks.pass(.seconds(3900))
        let master = await device.vault.value

        let report = try await device.retention.purge()
        #expect(filling.isDone)
        #expect([nil, .diskFull].contains(report.stoppedBy?.code), "\(report)")
        #expect(try await device.shown() == ["live"])
        // Whatever else could be done.
        #expect(await device.vault.value != master)
        let slots = await device.storage.keyTable.ids
        #expect(slots.count == 2, "\(slots)")

        try disk.empty()
        let next = try await device.relaunched()
        #expect(try await next.retention.purge().isComplete)
        #expect(try await next.shown() == ["live"])
        let database = try SQLiteDatabase(at: disk.url.appendingPathComponent("messages.sqlite").path)
        func count(_ table: String) throws -> Int64? {
            try database.first("SELECT count(*) FROM \(table)") { $0.integer(0) }
        }
        #expect(try count("message") == 1)
        #expect(try count(RetentionFixture.tombstones) == 61)
        #expect(try count("release") == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.url.path + "/attachments") == [])
        await next.storage.close()
    }

    @Test(arguments: [false, true])
    func `what is deleted on a full disk stays deleted after a kill`(isVaultLocked: Bool) async throws {
        let disk = try SmallDisk(byteCount: 4 << 20)
        defer { disk.unmount() }
        let device = try await OpenDevice(in: disk.url)
        try await device.keepAll()
        let other = RetentionFixture.conversation("c2")
        try await device.retention.updateRetentionPolicy(.keep, in: other, applyingTo: .newMessages)
        let kept = IncomingMessage(
            id: try "kept".asMessage, sender: AuthenticatedSender(RetentionFixture.peer, in: other),
            stamp: MessageStamp(policy: .keep), body: Data(count: 100))
        _ = try await device.retention.admit(kept)
        // So that the keys were replaced a moment ago.
        _ = try await device.retention.admit(OpenDevice.message("former", .keep))
        #expect(try await device.retention.deleteAll(in: RetentionFixture.conversation).isComplete)
        let messages = try (0..<20).map { number in
            try OpenDevice.message("m\(number)", number < 10 ? .keep : .oneWeek, byteCount: 3000)
        }
        _ = try await device.retention.admit(messages)
        let master = await device.vault.value
        try disk.fill()
        if isVaultLocked { await device.vault.fail(with: CloakroomError(.vaultLocked, "the device is locked")) }
        #expect(try await device.retention.deleteAll(in: RetentionFixture.conversation).stoppedBy?.code == .diskFull)
        #expect(try await device.shown() == [])
        #expect(await device.vault.value == master ? isVaultLocked : !isVaultLocked)
        #expect(try #require(await device.retention.nextDeadline()) <= Date())

        await device.vault.fail(with: nil)
        await device.storage.release()
        try disk.empty()
        let next = try await device.relaunchedKilled()
        #expect(try await next.shown() == [])
        #expect(try await next.retention.messageCount(in: RetentionFixture.conversation) == 0)
        #expect(try await next.retention.stamp(of: "m1".asReference) == nil)
        _ = try await next.retention.admit(OpenDevice.message("new", .keep))
        #expect(try await next.retention.purge().purgedCount == 20)
        #expect(await next.vault.value != master)
        let last = try await next.relaunchedKilled()
        #expect(try await last.shown() == ["new"])
        #expect(try await last.retention.messages(in: other).map(\.id.rawValue) == ["kept"])
        #expect(await last.storage.keyTable.deletions == [:])
        await last.storage.close()
    }

    @Test func `on a full disk messages that arrive are admitted all or none, and again when there is room`()
        async throws
    {
        let disk = try SmallDisk(byteCount: 4 << 20)
        defer { disk.unmount() }
        var device = try await OpenDevice(in: disk.url)
        try await device.keepAll()
        _ = try await device.retention.admit(OpenDevice.message("first", .oneWeek))
        var refused = 0
        var expected = ["first"]
        for (number, rest) in [0, 4096, 20_480, 40_960, 65_536, 131_072, 1 << 20].enumerated() {
            try disk.fill(leaving: rest)
            let ids = (0..<20).map { "m\(number)-\($0)" }
            // Another policy each, so that there are new keys to be written.
            let policy = try #require(MessageRetentionPolicy(afterSent: .seconds(86_400 * (number + 1))))
            let messages = try ids.map { try OpenDevice.message($0, policy, byteCount: 3000) }
            do {
                _ = try await device.retention.admit(messages)
            } catch {
                #expect((error as? CloakroomError)?.code == .diskFull, "\(error)")
                refused += 1
                #expect(try await device.shown() == expected)
                try disk.empty()
                let again = try await device.retention.admit(messages)
                #expect(again.allSatisfy { if case .kept = $0 { true } else { false } })
                try disk.fill()
            }
            expected += ids
            try disk.empty()
            #expect(try await device.shown() == expected)
            device = try await device.relaunched()
            #expect(try await device.shown() == expected)
        }
        #expect((2..<7).contains(refused), "\(refused)")
        await device.storage.close()
    }
}

extension Admission {
    fileprivate func expectKept() { if case .kept = self {} else { Issue.record("a message was not kept") } }
}
