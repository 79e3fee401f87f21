import CloakroomKit
@testable import CloakroomMessages
import CloakroomSQLite
import Foundation
import Testing

/// Purges that are ended, and what keeps them from going on.
@Suite struct PurgeFaultTests {
    /// Two messages that are over, with an image and a file, and one that is not.
    private func prepared() async throws -> RetentionFixture {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit(
            "m1", .oneHour, from: RetentionFixture.own, attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        try await device.retention.keepAttachment(Data([1]), at: 0, of: "m1".asOwn)
        try await device.admit("m2", .oneHour, quotes: "m1", by: RetentionFixture.own)
        try await device.admit("live", .oneWeek, attachments: [.init(assetKey: "chat/2")])
        try await device.retention.keepAttachment(Data([2]), at: 0, of: "live".asReference)
        // Beyond the end of the slot, so that its key goes too.
        device.clocks.pass(.seconds(3900))
        return device
    }

    /// Whatever came before.
    private func expectGone(_ device: RetentionFixture, _ comment: Comment) async throws {
        #expect(try await device.shown() == ["live"], comment)
        #expect(device.attachmentFiles.count == 1, comment)
        #expect(Set(device.handler.ids) == ["m1", "m2"], comment)
        #expect(device.cache.keys.contains("chat/1") && !device.cache.keys.contains("chat/2"), comment)
        #expect(try device.count("release") == 1, comment)
        #expect(try device.tombstoneCount() == 2, comment)
        #expect(try device.count("condemned") == 0, comment)
        #expect(try device.count("purge") == 0, comment)
        #expect(await device.storage.keyTable.ids.count == 2, comment)
        #expect(try await device.admit("m1", .oneDay, from: RetentionFixture.own) == .replay, comment)
        #expect(try await device.admit("m2", .oneDay) == .replay, comment)
    }

    @Test func `a purge that ends at any point is completed by the next one, also when that ends too`() async throws {
        for first in PurgeStep.all {
            let device = try await prepared()
            device.interruption.end(at: first)
            await #expect(throws: PurgeInterrupted.self, "\(first)") { try await device.retention.purge() }
            for second in PurgeStep.all where second != first {
                device.interruption.end(at: second)
                try await device.relaunch()
                #expect(try await device.shown() == ["live"])
                // A step that was done before is not come by again.
                _ = try? await device.retention.purge()
            }
            device.interruption.end(at: nil)
            try await device.relaunch()
            #expect(try await device.retention.purge().isComplete)
            try await expectGone(device, "ended at \(first)")
        }
    }

    @Test func `each step is crossed, in its order`() async throws {
        let device = try await prepared()
        try await device.retention.purge()
        let crossed = device.interruption.crossed
        let (before, after) = (PurgeStep.all.prefix(9), PurgeStep.all.suffix(9))
        let order = zip(before, after).flatMap { [$0, $1] }
        // The last search for a batch finds none.
        #expect(crossed.filter { $0 != .journaled(.before) } == order.filter { $0 != .journaled(.before) })
    }

    @Test func `a handler that throws keeps the rows and not the keys`() async throws {
        let device = try await prepared()
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        #expect(try await device.retention.purge().stoppedBy?.code == .storeFailed)
        #expect(try device.count("message") == 3)
        #expect(await device.storage.keyTable.ids.count == 2)
        #expect(try await device.shown() == ["live"])
        device.handler.fail(with: nil)
        #expect(try await device.retention.purge().isComplete)
        try await expectGone(device, "after a handler threw")
    }

    @Test(arguments: [PurgeStep.journaled(.before), .filesRemoved(.before), .rowsRemoved(.before)])
    func `a full disk keeps the rows and not the keys`(step: PurgeStep) async throws {
        let device = try await prepared()
        device.interruption.end(at: step, with: CloakroomError(.diskFull, "no space is left"))
        let master = await device.vault.value
        #expect(try await device.retention.purge().stoppedBy?.code == .diskFull)
        #expect(await device.vault.value != master)
        #expect(await device.storage.keyTable.ids.count == 2)
        #expect(try device.count("message") == 3)
        #expect(try await device.shown() == ["live"])
        device.interruption.end(at: nil)
        #expect(try await device.retention.purge().isComplete)
        try await expectGone(device, "after the disk was full")
    }

    @Test func `a database that has no page left is purged without one`() async throws {
        let device = try await prepared()
        let pages = try await device.storage.pragmas(["page_count"])[0]
        #expect(try await device.storage.pragmas(["max_page_count = \(pages)"]) == [pages])
        #expect(try await device.retention.purge().isComplete)
        try await expectGone(device, "without a page")
    }

    @Test func `a reader keeps the log, and the purge waits for the reader alone`() async throws {
        let device = try await prepared()
        let reader = try device.connect()
        try reader.run("BEGIN")
        #expect(try reader.first("SELECT count(*) FROM message") { $0.integer(0) } == 3)
        let report = try await device.retention.purge()
        #expect(report.isCheckpointPending && report.stoppedBy == nil && report.purgedCount == 2)
        #expect(try await device.retention.nextDeadline() == device.clocks.now)
        // Sealed with a key that is gone.
        #expect(await device.storage.keyTable.ids.count == 2)
        try reader.run("COMMIT")
        #expect(try await device.retention.purge().isComplete)
        let log = device.folder.appendingPathComponent("messages.sqlite-wal")
        #expect(try Data(contentsOf: log).count < 100_000)
        try await expectGone(device, "after a reader")
    }

    @Test func `a purge does not wait for a reader, the first time and later`() async throws {
        let device = try await prepared()
        let reader = try device.connect()
        try reader.run("BEGIN")
        #expect(try reader.first("SELECT count(*) FROM message") { $0.integer(0) } == 3)
        #expect(try await device.retention.purge().isCheckpointPending)
        // As long as it waits for others who write. A busy machine may take longer at times, and not each time.
        var shortest = Duration.seconds(60)
        for _ in 0..<8 where shortest >= .seconds(2) {
            let start = ContinuousClock.now
            #expect(try await device.retention.purge().isCheckpointPending)
            shortest = min(shortest, .now - start)
        }
        #expect(shortest < .seconds(2))
        #expect(try await device.storage.pragmas(["busy_timeout"]) == ["2000"])
    }

    @Test func `what a purge deletes need not wait for the disk, and all else does again afterwards`() async throws {
        let device = try await prepared()
        try await device.retention.purge()
        #expect(try await device.storage.pragmas(["synchronous", "wal_autocheckpoint"]) == ["2", "1000"])
        device.interruption.end(at: .rowsRemoved(.before), with: CloakroomError(.diskFull, "no space is left"))
        device.clocks.pass(.seconds(700_000))
        #expect(try await device.retention.purge().stoppedBy?.code == .diskFull)
        #expect(try await device.storage.pragmas(["synchronous", "wal_autocheckpoint"]) == ["2", "1000"])
    }

    @Test func `a vault that is locked keeps the purge open, and nothing else`() async throws {
        let device = try await prepared()
        await device.vault.fail(with: CloakroomError(.vaultLocked, "before the first unlock"))
        let report = try await device.retention.purge()
        #expect(report.stoppedBy?.code == .vaultLocked)
        #expect(try await device.shown() == ["live"])
        await device.vault.fail(with: nil)
        #expect(try await device.retention.purge().isComplete)
        try await expectGone(device, "after the vault was locked")
    }

    @Test func `a damaged database is moved aside sealed, and goes when its messages would have ended`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        try await device.admit("m1")
        await device.storage.close()
        let file = device.folder.appendingPathComponent("messages.sqlite")
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(0..<100, with: Data(repeating: 7, count: 100))
        try bytes.write(to: file)
        try await device.relaunch()
        #expect(await device.storage.losses == [.database, .policies])
        #expect(try await device.shown() == [])
        try await device.want(.oneHour)
        try await device.admit("m2")
        func aside() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: device.folder.path).filter { $0.contains("corrupt") }
        }
        #expect(try aside().count >= 1)
        device.clocks.pass(.seconds(3900))
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(try aside() == [])
    }

    private func damage(_ device: RetentionFixture) async throws {
        await device.storage.close()
        let file = device.folder.appendingPathComponent("messages.sqlite")
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(0..<100, with: Data(repeating: 7, count: 100))
        try bytes.write(to: file)
    }

    private func aside(_ device: RetentionFixture) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: device.folder.path).filter { $0.contains("corrupt") }
    }

    @Test func `databases that were damaged one after the other all go when their messages would have ended`()
        async throws
    {
        let device = try await RetentionFixture()
        for id in ["m1", "m2"] {
            try await device.want(.oneHour)
            try await device.admit(id)
            try await damage(device)
            device.clocks.pass(.seconds(61))
            try await device.relaunch()
        }
        #expect(try Set(aside(device).filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }).count == 2)
        device.clocks.pass(.seconds(3900))
        #expect(try await device.retention.purge().isComplete)
        #expect(try aside(device) == [])
    }

    @Test func `a damaged database goes with the vault that could open it`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1")
        try await damage(device)
        try await device.relaunch()
        try await device.retention.purge()
        #expect(try aside(device) != [])
        try await device.relaunch(vault: MemoryVault(), beginningAnewIfLost: true)
        try await device.retention.purge()
        #expect(try aside(device) == [])
    }

    @Test func `a database that was moved aside just before the process was killed goes, too`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        try await device.admit("m1")
        await device.storage.close()
        _ = try SQLiteDatabase.moveAside(
            at: device.folder.appendingPathComponent("messages.sqlite").path, on: device.clocks.now)
        try await device.relaunch()
        #expect(await device.storage.losses == [.database])
        #expect(try await device.retention.retentionPolicy(in: RetentionFixture.conversation) == .oneHour)
        // Its keys are no other conversation's.
        try await device.want(.oneHour)
        let row = try device.connect().first("SELECT id FROM conversation") { $0.integer(0) }
        #expect(try #require(row) > 1)
        try await device.relaunch()
        #expect(await device.storage.losses == [])
        device.clocks.pass(.seconds(3900))
        try await device.retention.purge()
        #expect(try aside(device) == [])
    }
}
