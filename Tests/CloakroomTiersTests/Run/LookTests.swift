import CloakroomCrypto
import CloakroomKit
import CloakroomKitTestSupport
import CloakroomSQLite
@testable import CloakroomScriptedTier
@testable import CloakroomTiers
import Foundation
import Synchronization
import Testing

/// The weekly look at the cold tier.
@Suite(.serialized) struct LookTests {
    private func evicted(_ count: Int) async throws -> (StoreFixture, [PhotoID]) {
        let device = try StoreFixture()
        var ids: [PhotoID] = []
        for number in 0..<count { ids.append(try await device.add("photo\(number)")) }
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == count)
        _ = await device.store.run()
        return (device, ids)
    }

    @Test func `a week later the cold tier is listed once and a sample looked at`() async throws {
        let (device, _) = try await evicted(60)
        let moment = 1.0 / 1024
        device.clock.pass(days: 7 - moment)
        device.remote.resetRequests()
        _ = await device.store.run()
        #expect(device.remote.requestCount == 0)
        device.clock.pass(days: moment)
        let report = await device.store.run()
        #expect(report.alarms.isEmpty)
        #expect(device.remote.requests(.list) == 1)
        #expect((1...17).contains(device.remote.requests(.verify)))
    }

    @Test func `photos that a rule is going to delete raise an alarm before they are lost`() async throws {
        let (device, _) = try await evicted(30)
        let expiration = device.clock.now + 20 * 86_400
        device.remote.change { account in
            for key in account.objects.keys { account.objects[key]?.expiration = expiration }
        }
        try await device.add("young")
        device.clock.pass(days: 8)
        #expect(await device.store.run().alarms.map(\.kind) == [.expiring])
        device.clock.pass(days: 40)
        let report = await device.store.run()
        #expect(report.evicted == 0)
        #expect(device.photoFiles.count == 1)
    }

    @Test func `photos that are gone are missing, named by an alarm, and come back when they are there again`()
        async throws
    {
        let (device, ids) = try await evicted(20)
        let objects = device.remote.account().objects
        let lost = MD5.hash(try #require(device.bytes["photo3"])).hexadecimal
        device.remote.change { $0.objects[lost] = nil }
        device.clock.pass(days: 8)
        let report = await device.store.run()
        #expect(report.alarms.map(\.kind) == [.missing])
        #expect(report.alarms.first?.photoCount == 1)
        #expect(report.alarms.first?.example.contains(lost) == true)
        #expect(try await device.place(of: ids[3]) == .missing)
        #expect(try await device.place(of: ids[4]) == .cold)
        device.remote.change { $0.objects = objects }
        device.clock.pass(days: 8)
        _ = await device.store.run()
        #expect(try await device.place(of: ids[3]) == .cold)
        #expect(try await device.read(ids[3]) == device.bytes["photo3"])
    }

    @Test func `photos that are there again are looked for once more when the look at them broke off`() async throws {
        let (device, ids) = try await evicted(3)
        let objects = device.remote.account().objects
        device.remote.change { $0.objects = [:] }
        device.clock.pass(days: 8)
        #expect(await device.store.run().alarms.map(\.kind) == [.missing])
        device.remote.change { $0.objects = objects }
        device.clock.pass(days: 8)
        device.tier.script.add(.failBefore(.scriptedOutage), on: .verify)
        #expect(await device.store.run().stoppedBy?.code == .unreachable)
        _ = await device.store.run()
        for id in ids { #expect(try await device.place(of: id) == .cold) }
    }

    @Test func `photos that are gone and on this device are uploaded again`() async throws {
        let device = try StoreFixture()
        try await device.add("a")
        _ = await device.store.run()
        device.remote.change { $0 = ScriptedStore.Account() }
        device.clock.pass(days: 8)
        let report = await device.store.run()
        #expect(report.alarms.map(\.kind) == [.missing])
        #expect(device.remote.account().objects.count == 1)
        #expect(device.remote.account().thumbnails.count == 1)
    }

    @Test func `a rule that is going to delete snapshots raises an alarm, too`() async throws {
        let (device, _) = try await evicted(3)
        device.remote.change { account in
            for name in account.documents.keys { account.documents[name]?.isExpiring = true }
        }
        device.clock.pass(days: 8)
        let alarm = try #require(await device.store.run().alarms.first)
        #expect(alarm.kind == .expiring)
        #expect(alarm.example.contains("snapshot-"))
    }

    @Test func `what was looked at is proven as of then, so that others are the oldest next time`() async throws {
        let (device, _) = try await evicted(3)
        device.clock.pass(days: 8)
        #expect(await device.store.run().stoppedBy == nil)
        let database = try SQLiteDatabase(at: device.folder.appendingPathComponent("catalog.sqlite").path)
        let times = try database.rows("SELECT verified_at FROM photo") { $0.integer(0) }
        #expect(times == [Int64](repeating: device.clock.now.milliseconds, count: 3))
    }

    @Test func `a run that is cancelled looks at no further photo`() async throws {
        let running = Mutex<Task<TieringReport, Never>?>(nil)
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .verify, moment == .before { running.withLock { $0 }?.cancel() }
        })
        for number in 0..<3 { try await device.add("photo\(number)") }
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 3)
        device.clock.pass(days: 8)
        device.remote.resetRequests()
        let (store, beginning) = (device.store, Gate())
        let run = Task {
            await beginning.pass()
            return await store.run()
        }
        running.withLock { $0 = run }
        // Its own task is not cancelled yet.
        await beginning.open()
        #expect(await run.value.stoppedBy?.code == .cancelled)
        #expect(device.remote.requests(.verify) == 1)
    }

    @Test func `a listing that is not complete says nothing`() async throws {
        let (device, ids) = try await evicted(10)
        device.tier.script.add(.half(.scriptedOutage), on: .list)
        device.clock.pass(days: 8)
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == .unreachable)
        #expect(report.alarms.isEmpty)
        #expect(try await device.place(of: ids[9]) == .cold)
        device.remote.resetRequests()
        _ = await device.store.run()
        #expect(device.remote.requests(.list) == 1)
    }

    @Test func `photos that were moved to an archive raise an alarm, and opening them says so`() async throws {
        let (device, ids) = try await evicted(3)
        device.remote.change { account in
            for key in account.objects.keys { account.objects[key]?.isArchived = true }
        }
        #expect(await CloakroomError.code { _ = try await device.store.open(ids[0]) } == .archived)
        device.clock.pass(days: 8)
        let report = await device.store.run()
        #expect(report.alarms.map(\.kind) == [.archived])
        #expect(report.alarms.first?.photoCount == 3)
    }

    @Test func `a clock that was set back does not put the look off for ever`() async throws {
        let (device, _) = try await evicted(3)
        device.clock.pass(days: -400)
        device.remote.resetRequests()
        _ = await device.store.run()
        #expect(device.remote.requests(.list) == 1)
    }

    @Test func `an object that cannot be read now ends no run`() async throws {
        let broken = Mutex<String?>(nil)
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .verify, moment == .before, call.subject == broken.withLock({ $0 }) {
                throw CloakroomError(.internalError, "a part of it is lost", status: 500)
            }
        })
        let ids = try await device.addOld("a")
        #expect(await device.store.run().evicted == 1)
        broken.withLock { $0 = StoreFixture.key("a") }
        try await device.add("new")
        device.clock.pass(days: 8)
        let report = await device.store.run()
        #expect(report.stoppedBy == nil)
        #expect(report.failures.map(\.photo) == ids)
        #expect(report.failures.map(\.error.code) == [.internalError])
        #expect(report.uploaded == 1)
    }

    @Test func `a look that takes too long keeps photos from leaving, and none from being uploaded`() async throws {
        let slow = Mutex<String?>(nil)
        let device = try StoreFixture(gate: { call, moment in
            if call.kind == .verify, moment == .before, call.subject == slow.withLock({ $0 }) {
                throw CloakroomError(.timedOut, "too slow")
            }
        })
        _ = try await device.addOld("a")
        #expect(await device.store.run().evicted == 1)
        slow.withLock { $0 = StoreFixture.key("a") }
        _ = try await device.addOld("due")
        try await device.add("new")
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == .timedOut)
        #expect(report.uploaded == 2)
        #expect(report.evicted == 0)
        #expect(device.isStored("new") && device.isStored("due"))
    }

    @Test func `when the store limits the look, photos that are proven are not proven one by one`() async throws {
        let device = try StoreFixture()
        for number in 0..<20 { try await device.add("photo\(number)") }
        #expect(await device.store.run().uploaded == 20)
        device.clock.pass(days: 31)
        device.remote.resetRequests()
        device.tier.script.add(.failBefore(CloakroomError(.tooManyRequests, "slow down", status: 503)), on: .list)
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == .tooManyRequests)
        #expect(report.evicted == 0)
        #expect(device.remote.requests(.verify) == 0)
    }

    @Test func `snapshots that are gone are published again`() async throws {
        let (device, _) = try await evicted(3)
        let names = Set(device.remote.account().documents.keys)
        device.remote.change { $0.documents = [:] }
        device.clock.pass(days: 8)
        #expect(await device.store.run().stoppedBy == nil)
        let other = try StoreFixture(remote: device.remote, device: "other")
        #expect(try await other.store.rebuildCatalog().unnamed == 0)
        #expect(names.isDisjoint(with: device.remote.account().documents.keys))
    }
}
