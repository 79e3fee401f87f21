import CloakroomKit
import CloakroomKitTestSupport
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// A disk that is full when the app starts, or when the server's time becomes known.
@Suite(.serialized, .enabled(if: SmallDisk.isPossible)) struct FullDiskStartTests {
    private let conversation = RetentionFixture.conversation

    private func connect(_ disk: SmallDisk) throws -> SQLiteDatabase {
        try SQLiteDatabase(at: disk.url.appendingPathComponent("messages.sqlite").path)
    }

    @Test func `messages are read and keys go by the server's time before that can be written down`() async throws {
        let disk = try SmallDisk(byteCount: 4 << 20)
        defer { disk.unmount() }
        let former = try await OpenDevice(in: disk.url)
        try await former.keepAll()
        _ = try await former.retention.admit(OpenDevice.message("due", .oneHour))
        _ = try await former.retention.admit(OpenDevice.message("live", .oneWeek))
        let dueKey = try #require(await former.storage.keyTable.ids.min { $0.slot < $1.slot })
        former.clocks.restart(after: .seconds(7200))
        let device = try await former.relaunchedKilled()
        _ = try await device.retention.admit(OpenDevice.message("received", .oneWeek))
        let master = await device.vault.value

        try disk.fill()
        // The clock was some minutes behind.
        device.clocks.hearServer(ahead: .seconds(300))
        #expect(try await device.shown() == ["live", "received"])
        #expect(try await device.retention.messageCount(in: conversation) == 2)
        #expect(try await device.retention.message("live".asReference) != nil)
        #expect(try await device.retention.stamp(of: "received".asReference)?.age == .zero)
        let report = try await device.retention.purge()
        #expect(report.stoppedBy?.code == .diskFull && report.purgedCount == 0)
        #expect(await !device.storage.keyTable.ids.contains(dueKey))
        #expect(await device.vault.value != master)
        #expect(
            await CloakroomError.code {
                _ = try await device.retention.admit(OpenDevice.message("more", .oneWeek, byteCount: 9000))
            } == .diskFull)
        device.clocks.pass(.seconds(60))
        #expect(try await device.shown() == ["live", "received"])

        try disk.empty()
        #expect(try await device.retention.purge().purgedCount == 1)
        let database = try connect(disk)
        let rows = try database.rows("SELECT clock, base, name FROM message ORDER BY seq") {
            "\($0.integer(0)) \($0.integer(1)) \($0.text(2))"
        }
        // What was received before the server's time was known has it by now, as if that had been written at once.
        let now = device.clocks.reading.wall
        #expect(rows == ["1 \(now - 7_260_000) live", "1 \(now + 240_000) received"])
        #expect(await device.storage.heardClock == nil)
        await device.storage.close()
    }

    @Test func `cuts that wait for the right time are not compared with it before they follow it`() async throws {
        let disk = try SmallDisk(byteCount: 4 << 20)
        defer { disk.unmount() }
        let device = try await OpenDevice(in: disk.url, clocks: TestClocks(server: false))
        try await device.keepAll()
        _ = try await device.retention.admit(OpenDevice.message("m1", .oneWeek))
        // The clock is a day behind, so that the cut is before what comes next.
        try await device.retention.updateRetentionPolicy(.oneDay, in: conversation, applyingTo: .history)
        device.clocks.pass(.seconds(60))
        _ = try await device.retention.admit(OpenDevice.message("m2", .oneWeek))
        try disk.fill()
        device.clocks.hearServer(ahead: .seconds(86_400))
        #expect(try await device.shown() == ["m1", "m2"])
        #expect(await device.storage.heardClock == nil)
        try disk.empty()
        #expect(try await device.shown() == ["m1", "m2"])
        #expect(await device.storage.clock.isServerTimeKnown)
        await device.storage.close()
    }

    @Test func `a storage opens on a full disk, and what messages in memory have left goes when there is room`()
        async throws
    {
        let disk = try SmallDisk(byteCount: 4 << 20)
        defer { disk.unmount() }
        let former = try await OpenDevice(in: disk.url)
        try await former.keepAll()
        _ = try await former.retention.admit(OpenDevice.message("stored", .oneWeek))
        let own = AuthenticatedSender(RetentionFixture.own, in: conversation)
        let image = MessageAttachment(assetKey: "chat/1", releaseToken: "token")
        _ = try await former.retention.admit(
            IncomingMessage(
                id: "memory".asMessage, sender: own, stamp: MessageStamp(policy: .noStorage), body: Data("m".utf8),
                attachments: [image]))
        // As after a kill, the log and its index are there.
        let other = try connect(disk)
        await former.storage.release()
        try disk.fill()
        let device = try await OpenDevice(in: disk.url, vault: former.vault, clocks: former.clocks)
        #expect(try await device.shown() == ["stored"])
        #expect(try await device.retention.purge().stoppedBy?.code == .diskFull)
        #expect(try other.first("SELECT count(*) FROM memory_image") { $0.integer(0) } == 1)
        try disk.empty()
        #expect(try await device.retention.purge().releaseCount == 1)
        #expect(try other.first("SELECT count(*) FROM memory_image") { $0.integer(0) } == 0)
        #expect(try other.first("SELECT count(*) FROM memory_note") { $0.integer(0) } == 0)
        await device.storage.close()
    }

    @Test func `images that are held after a launch on a full disk are let go before new ones are held`() async throws {
        let disk = try SmallDisk(byteCount: 4 << 20)
        defer { disk.unmount() }
        let former = try await OpenDevice(in: disk.url)
        let image = MessageAttachment(assetKey: "chat/1")
        func message(_ id: String) throws -> IncomingMessage {
            IncomingMessage(
                id: try id.asMessage, sender: AuthenticatedSender(RetentionFixture.peer, in: conversation),
                stamp: MessageStamp(policy: .noStorage), body: Data("m".utf8), attachments: [image])
        }
        _ = try await former.retention.admit(message("m1"))
        let other = try connect(disk)
        await former.storage.release()
        try disk.fill()
        let device = try await OpenDevice(in: disk.url, vault: former.vault, clocks: former.clocks)
        try disk.empty()
        _ = try await device.retention.admit(message("m2"))
        #expect(try other.first("SELECT count(*) FROM memory_image") { $0.integer(0) } == 1)
        try await device.retention.purge()
        // The one of the message that is here.
        #expect(try other.first("SELECT count(*) FROM memory_image") { $0.integer(0) } == 1)
        await device.storage.close()
    }
}
