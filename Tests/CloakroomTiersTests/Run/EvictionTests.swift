import CloakroomCrypto
import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

@Suite(.serialized) struct EvictionTests {
    @Test func `a photo that is old, proven and published leaves the device and comes back byte for byte`() async throws
    {
        let device = try StoreFixture()
        let ids = try await device.addOld("a", "b")
        let young = try await device.add("young")
        let report = await device.store.run()
        #expect(report.evicted == 2)
        #expect(report.evictedBytes >= 6000)
        #expect(report.kept == 0)
        #expect(report.stoppedBy == nil)
        #expect(try await device.place(of: ids[0]) == .cold)
        #expect(try await device.place(of: young) == .both)
        #expect(device.photoFiles.count == 1)
        #expect(try await device.read(ids[1]) == device.bytes["b"])
        #expect(try await device.place(of: ids[1]) == .both)
    }

    @Test func `a photo stays while it is pinned, open, viewed within a week, or without a thumbnail`() async throws {
        let device = try StoreFixture()
        let pinned = try await device.add("pinned")
        let open = try await device.add("open")
        let viewed = try await device.add("viewed")
        let blank = try await device.add("blank", ScriptedThumbnailer.noPicture + Data("x".utf8))
        try await device.store.pin(pinned)
        device.clock.pass(days: 31)
        let file = try await device.store.open(open)
        _ = try await device.read(viewed)
        device.clock.pass(days: 6)
        #expect(await device.store.run().evicted == 0)
        #expect(device.photoFiles.count == 4)
        device.clock.pass(days: 2)
        let report = await device.store.run()
        #expect(report.evicted == 1)
        #expect(try await device.place(of: viewed) == .cold)
        file.close()
        #expect(await device.store.run().evicted == 1)
        #expect(try await device.place(of: open) == .cold)
        #expect(try await device.place(of: blank) == .both)
        try await device.store.pin(pinned, false)
        #expect(await device.store.run().evicted == 1)
    }

    @Test(arguments: [(RetentionPolicy.Period.week, 7.0), (.month, 30), (.quarter, 90)])
    func `a photo leaves after the days of the policy and not before`(
        period: RetentionPolicy.Period, days: Double
    ) async throws {
        let device = try StoreFixture(RetentionPolicy(period: period))
        try await device.add("a")
        device.clock.pass(days: days - 0.01)
        #expect(await device.store.run().evicted == 0)
        device.clock.pass(days: 0.02)
        #expect(await device.store.run().evicted == 1)
    }

    @Test func `the search goes on where many old photos cannot leave`() async throws {
        let device = try StoreFixture(RetentionPolicy(uploadTime: .whenDue))
        // More than are looked at together.
        for number in 0..<260 { try await device.store.pin(device.add("pinned\(number)")) }
        device.clock.pass(60)
        _ = try await device.addOld("a", "b")
        #expect(await device.store.run().evicted == 2)
        #expect(device.photoFiles.count == 260)
    }

    @Test func `nothing leaves under a policy for ever`() async throws {
        let device = try StoreFixture(RetentionPolicy(period: .forever, hotByteLimit: 1))
        _ = try await device.addOld("a", days: 4000)
        let report = await device.store.run()
        #expect(report.uploaded == 1)
        #expect(report.evicted == 0)
        let freed = await device.store.freeSpace(.perform)
        #expect(freed.evicted == 0)
        #expect(freed.stoppedBy?.code == .notAllowedNow)
    }

    @Test func `the least recently viewed leave for the limit of bytes, however young`() async throws {
        let device = try StoreFixture(RetentionPolicy(period: .quarter, hotByteLimit: 7000))
        let first = try await device.add("first")
        device.clock.pass(60)
        let second = try await device.add("second")
        device.clock.pass(60)
        let third = try await device.add("third")
        device.clock.pass(60)
        _ = try await device.read(first)
        let report = await device.store.run()
        #expect(report.evicted == 1)
        #expect(try await device.place(of: second) == .cold)
        #expect(try await device.place(of: first) == .both)
        #expect(try await device.place(of: third) == .both)
        #expect(await device.store.run().evicted == 0)
    }

    @Test(arguments: [TierCall.Kind.put, .putThumbnail, .putDocument, .documents, .verify])
    func `a request that fails leaves the photo on the device, and the next run goes on`(
        kind: TierCall.Kind
    ) async throws {
        let device = try StoreFixture()
        let ids = try await device.addOld("a")
        device.tier.script.add(.failBefore(.scriptedOutage), on: kind)
        let report = await device.store.run()
        #expect(report.evicted == 0)
        #expect(report.failures.count + (report.stoppedBy == nil ? 0 : 1) > 0)
        #expect(device.photoFiles.count == 1)
        #expect(await device.store.run().evicted == 1)
        #expect(try await device.read(ids[0]) == device.bytes["a"])
    }

    @Test(arguments: [TierCall.Kind.put, .putThumbnail, .putDocument, .documents, .verify])
    func `a response that is lost leaves the photo on the device, and the next run goes on`(
        kind: TierCall.Kind
    ) async throws {
        let device = try StoreFixture()
        let ids = try await device.addOld("a")
        device.tier.script.add(.failAfter(.scriptedOutage), on: kind)
        #expect(await device.store.run().evicted == 0)
        #expect(device.photoFiles.count == 1)
        #expect(await device.store.run().evicted == 1)
        #expect(try await device.read(ids[0]) == device.bytes["a"])
    }

    @Test func `a photo whose object is expiring stays, and raises an alarm that stops eviction`() async throws {
        let device = try StoreFixture(RetentionPolicy(uploadTime: .whenDue))
        let ids = try await device.addOld("a", "b")
        let data = try #require(device.bytes["a"])
        let key = MD5.hash(data).hexadecimal
        device.remote.change {
            $0.objects[key] = ScriptedStore.Object(
                bytes: data, format: "dat", tag: "t", expiration: device.clock.now + 9)
        }
        let report = await device.store.run()
        #expect(report.evicted == 0)
        #expect(report.alarms.map(\.kind) == [.expiring])
        #expect(device.photoFiles.count == 2)
        device.remote.change { $0.objects[key]?.expiration = nil }
        device.clock.pass(7200)
        #expect(await device.store.run().evicted == 0)
        try await device.store.dismissAlarm(.expiring)
        #expect(await device.store.run().evicted == 2)
        #expect(try await device.read(ids[0]) == data)
    }

    @Test func `other bytes under the photo's key are a collision, and the photo stays`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("a")
        let key = MD5.hash(try #require(device.bytes["a"])).hexadecimal
        device.remote.change {
            $0.objects[key] = ScriptedStore.Object(bytes: Data("others".utf8), format: "dat", tag: "t")
        }
        let report = await device.store.run()
        #expect(report.evicted == 0)
        #expect(report.failures.map(\.error.code) == [.photoCollision])
        #expect(device.photoFiles.count == 1)
        #expect(await device.store.run().failures.isEmpty)
    }

    @Test func `a damaged file is not uploaded and does not leave`() async throws {
        let device = try StoreFixture(RetentionPolicy(uploadTime: .whenDue))
        let ids = try await device.addOld("a")
        let data = try #require(device.bytes["a"])
        var damaged = data
        damaged.flipBit()
        try damaged.write(to: device.photoFile(data))
        let report = await device.store.run()
        #expect(report.uploaded == 0)
        #expect(report.failures == [.init(photo: ids[0], error: report.failures[0].error)])
        #expect(report.failures[0].error.code == .photoDamaged)
        #expect(device.remote.account().objects.isEmpty)
        #expect(device.photoFiles.count == 1)
    }

    @Test func `a clock that went back lets nothing leave`() async throws {
        let server = TestClock()
        let device = try StoreFixture(
            RetentionPolicy(period: .week), remote: ScriptedStore(clock: server), clock: TestClock())
        try await device.add("a")
        device.clock.pass(days: 40)
        server.pass(days: 40)
        try await device.add("b")
        #expect(await device.store.run().evicted == 1)
        device.clock.pass(days: -10)
        try await device.add("c")
        let report = await device.store.freeSpace(.perform)
        #expect(report.evicted == 0)
        #expect(report.stoppedBy?.code == .clockWentBack)
        device.clock.pass(days: 30)
        server.pass(days: 20)
        #expect(await device.store.run().evicted == 2)
    }

    @Test func `a clock that was ahead once and is right now lets photos leave`() async throws {
        let server = TestClock()
        let device = try StoreFixture(remote: ScriptedStore(clock: server), clock: TestClock())
        try await device.add("a")
        device.clock.pass(days: 400)
        // Old by the device's clock alone.
        #expect(await device.store.run().evicted == 0)
        device.clock.set(server.now)
        device.clock.pass(days: 31)
        server.pass(days: 31)
        #expect(await device.store.run().evicted == 1)
    }

    @Test func `a quota that is used up ends the run, keeps the photos, and lets others be restored`() async throws {
        let device = try StoreFixture()
        let ids = try await device.addOld("a")
        _ = await device.store.run()
        device.remote.setQuota(3000)
        _ = try await device.addOld("b", "c")
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == .storageQuotaExceeded)
        #expect(device.photoFiles.count == 2)
        #expect(try await device.read(ids[0]) == device.bytes["a"])
    }
}
