import CloakroomKit
import CloakroomSQLite
import Foundation
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

/// Deletions that reach the cold tier long after the call that sent them has ended.
@Suite(.serialized) struct SentDeletionTests {
    private let late = CloakroomError(.timedOut, "no response")

    /// A device whose deletion of its photo "a" is on its way.
    private func deleting(again: Bool = false) async throws -> StoreFixture {
        let device = try StoreFixture(device: "first")
        try await device.add("a")
        _ = await device.store.run()
        try await device.store.remove(name: "a")
        _ = await device.store.run()
        device.clock.pass(days: 2.1)
        device.tier.script.add(.failBefore(late), on: .delete)
        #expect(await device.store.run().stoppedBy == late)
        if again { #expect(await device.store.run().deleted == 1) }
        return device
    }

    private func arrive(_ device: StoreFixture) {
        device.remote.change { $0.objects[StoreFixture.key("a")] = nil }
    }

    @Test(arguments: [false, true])
    func `a photo that was added again stays while its deletion may be on its way`(again: Bool) async throws {
        let device = try await deleting(again: again)
        try await device.add("a")
        _ = await device.store.run()
        #expect(device.isStored("a"))
        device.clock.pass(days: 3)
        #expect(await device.store.freeSpace(.preview).evicted == 0)
        #expect(await device.store.freeSpace(.perform).evicted == 0)
        arrive(device)
        #expect(await device.store.freeSpace(.perform).evicted == 0)
        #expect(try await device.read("a") == device.bytes["a"])
        // It is uploaded again, and no alarm tells of a loss.
        await device.runDaily(14)
        #expect(device.isStored("a"))
        #expect(try await device.store.alarms().isEmpty)
        #expect(await device.store.freeSpace(.perform).evicted == 1)
        #expect(device.remote.documentNames("intent-").isEmpty)
        #expect(try await device.read("a") == device.bytes["a"])
    }

    @Test(arguments: [false, true])
    func `no other device lets a photo go while a deletion of this one may be on its way`(again: Bool) async throws {
        let first = try await deleting(again: again)
        let second = try StoreFixture(remote: first.remote, device: "second")
        try await second.add("a")
        for device in [second, first, second] {
            device.clock.pass(days: 2)
            _ = await device.store.run()
        }
        #expect(await second.store.freeSpace(.perform).evicted == 0)
        arrive(first)
        #expect(try await second.read("a") == second.bytes["a"])
        for _ in 0..<10 {
            first.clock.pass(days: 1)
            _ = await first.store.run()
            _ = await second.store.run()
        }
        #expect(await second.store.freeSpace(.perform).evicted == 1)
        #expect(try await second.read("a") == second.bytes["a"])
    }

    @Test func `the time of a deletion begins when it is seen that its process ended`() async throws {
        let device = try await deleting()
        device.clock.pass(days: 30)
        try await device.relaunch()
        try await device.add("a")
        _ = await device.store.run()
        device.clock.pass(days: 7)
        #expect(await device.store.freeSpace(.perform).evicted == 0)
        device.clock.pass(days: 1.1)
        _ = await device.store.run()
        #expect(await device.store.freeSpace(.perform).evicted == 1)
        device.remote.resetRequests()
        #expect(await device.store.run().stoppedBy == nil)
        #expect(device.remote.requestCount == 0)
    }

    @Test func `a device that was given up keeps its announcement while a deletion may be on its way`() async throws {
        let first = try await deleting()
        let second = try StoreFixture(remote: first.remote, device: "second")
        try await second.add("b")
        _ = await second.store.run()
        try await second.store.dismissDevice(first.store.device)
        try await first.add("a")
        _ = await first.store.run()
        try await first.store.dismissAlarm(.dismissed)
        _ = await first.store.run()
        #expect(first.remote.documentNames("intent-").count == 1)
        #expect(await first.store.freeSpace(.perform).evicted == 0)
        await first.runDaily(9)
        #expect(first.remote.documentNames("intent-").isEmpty)
        #expect(await first.store.freeSpace(.perform).evicted == 1)
        #expect(try await first.read("a") == first.bytes["a"])
    }

    @Test func `an announcement of a deletion on its way that disappeared is made again`() async throws {
        let device = try await deleting()
        try await device.add("a")
        device.remote.change { $0.documents = $0.documents.filter { !$0.key.hasPrefix("intent-") } }
        _ = await device.store.run()
        #expect(device.remote.documentNames("intent-").count == 1)
    }

    @Test func `deletions that an earlier version has announced count as sent`() async throws {
        let device = try await deleting()
        try await device.store.releaseLock()
        let file = device.folder.appendingPathComponent("catalog.sqlite")
        try device.downgradeCatalog()
        let old = try SQLiteDatabase(at: file.path, settings: SQLiteSettings(), migrations: Catalog.migrations)
        let rows = try old.rows("SELECT md5, tier, intent, ended_at IS NULL FROM sent_deletion") { row in
            [row.blob(0).hexadecimal, row.text(1), row.text(2), "\(row.integer(3))"]
        }
        let intent = try #require(device.remote.documentNames("intent-").first)
        #expect(rows == [[StoreFixture.key("a"), ScriptedTier.identity().description, intent, "1"]])
        try await device.relaunch()
        try await device.add("a")
        _ = await device.store.run()
        #expect(await device.store.freeSpace(.perform).evicted == 0)
        await device.runDaily(9)
        #expect(await device.store.freeSpace(.perform).evicted == 1)
    }
}

extension StoreFixture {
    /// Has the catalog be as the version before deletions were marked left it.
    fileprivate func downgradeCatalog() throws {
        let database = try SQLiteDatabase(
            at: folder.appendingPathComponent("catalog.sqlite").path, settings: SQLiteSettings(),
            migrations: Catalog.migrations)
        for table in ["sent_deletion", "absent_device"] { try database.run("DROP TABLE \(table)") }
        try database.run("PRAGMA user_version = 2")
    }
}
