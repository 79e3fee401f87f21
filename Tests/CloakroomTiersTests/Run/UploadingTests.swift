import CloakroomKit
@testable import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Synchronization
import Testing

/// What keeps photos on the device keeps none of them from being uploaded.
@Suite(.serialized) struct UploadingTests {
    @Test func `photos that are due are uploaded under an alarm, those of later batches too`() async throws {
        let device = try StoreFixture(RetentionPolicy(uploadTime: .whenDue))
        let expiring = StoreFixture.bytes("expiring")
        device.remote.change {
            $0.objects[StoreFixture.key("expiring")] = .init(
                bytes: expiring, format: "dat", tag: "t", expiration: .distantFuture)
        }
        try await device.add("expiring")
        // More than are uploaded together.
        for number in 0..<260 { try await device.add("photo\(number)") }
        device.clock.pass(days: 31)
        let report = await device.store.run()
        #expect(report.stoppedBy?.code == .alarmRaised)
        #expect(report.alarms.map(\.kind) == [.expiring])
        #expect(report.evicted == 0)
        #expect(device.remote.account().objects.count == 261)
        // Each photo once, and the one that is expiring once more.
        #expect(device.remote.requests(.verify) == 262)
    }

    @Test func `under an alarm what is new is proven, and what is proven already is not proven again`() async throws {
        let device = try StoreFixture()
        // Three batches.
        for number in 0..<600 { try await device.add("photo\(number)") }
        #expect(await device.store.run(.launch).uploaded == 600)
        let new = try await device.add("new")
        // The weekly look sees the oldest.
        device.remote.change { $0.objects[StoreFixture.key("photo0")]?.expiration = .distantFuture }
        device.clock.pass(days: 31)
        device.remote.resetRequests()
        let seen = Seen()
        let first = await device.store.run(.launch) { done, total in seen.add(done, total) }
        #expect(first.alarms.map(\.kind) == [.expiring])
        #expect(first.stoppedBy?.code == .alarmRaised)
        #expect(first.uploaded == 1)
        #expect(seen.last?.done == 601)
        #expect(device.isStored("new"))
        #expect(try await device.place(of: new) == .both)
        let proofs = device.remote.log.filter { $0.kind == .verify && $0.subject == StoreFixture.key("new") }
        #expect(proofs.count == 1)
        // The others are those that the look has seen: the oldest, and sixteen more.
        #expect(device.remote.requests(.verify) <= 18)
        device.remote.resetRequests()
        let second = await device.store.run(.launch)
        #expect(second.stoppedBy?.code == .alarmRaised)
        #expect(second.kept == 601)
        #expect(device.remote.requests(.verify) == 0)
    }

    @Test func `new photos are uploaded, and removed ones deleted, under an alarm`() async throws {
        let device = try StoreFixture()
        for name in ["expiring", "removed"] { try await device.add(name) }
        _ = await device.store.run()
        device.remote.change { $0.objects[StoreFixture.key("expiring")]?.expiration = .distantFuture }
        device.clock.pass(days: 31)
        #expect(await device.store.run().alarms.map(\.kind) == [.expiring])
        try await device.add("new")
        try await device.store.remove(name: "removed")
        let reports = await device.runDaily(4)
        #expect(reports.allSatisfy { $0.alarms.map(\.kind) == [.expiring] })
        #expect(device.isStored("new"))
        #expect(!device.isStored("removed"))
    }

    @Test func `a photo that is uploaded when due is uploaded at that age also where it stays`() async throws {
        let device = try StoreFixture(RetentionPolicy(uploadTime: .whenDue))
        try await device.store.pin(device.add("pinned"))
        try await device.add("blank", ScriptedThumbnailer.noPicture + Data("x".utf8))
        let viewed = try await device.add("viewed")
        let open = try await device.add("open")
        device.clock.pass(days: 29)
        try await device.add("young")
        #expect(await device.store.run().uploaded == 0)
        _ = try await device.read(viewed)
        let file = try await device.store.open(open)
        device.clock.pass(days: 2)
        let report = await device.store.run()
        #expect(report.uploaded == 4)
        #expect(report.evicted == 0)
        #expect(device.remote.account().objects.count == 4)
        #expect(!device.isStored("young"))
        #expect(device.photoFiles.count == 5)
        file.close()
    }

    @Test func `photos that stay for ever are uploaded as they are added, whenever others are`() async throws {
        let device = try StoreFixture(RetentionPolicy(uploadTime: .whenDue))
        _ = try await device.addOld("a")
        #expect(await device.store.run().evicted == 1)
        // From then on they stay.
        #expect(await device.store.restoreAll().restored == 1)
        try await device.add("b")
        #expect(await device.store.run().uploaded == 1)
        #expect(device.isStored("b"))
    }

    @Test func `a document that cannot be read keeps no photo from being uploaded`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("old")
        try await device.tier.putDocument(Data(#"{"version":2}"#.utf8), named: "intent-other-abc.json")
        try await device.add("new")
        let report = await device.store.run()
        #expect(report.evicted == 0)
        #expect(report.stoppedBy?.code == .storeFailed)
        #expect(device.isStored("old"))
        #expect(device.isStored("new"))
        // The weekly look meets it, too.
        try await device.add("newer")
        device.clock.pass(days: 8)
        #expect(await device.store.run().uploaded == 1)
    }

    @Test(arguments: [CloakroomError.Code.checksumMismatch, .archived])
    func `a document that is damaged in the tier keeps no photo from being uploaded`(
        code: CloakroomError.Code
    ) async throws {
        let device = try StoreFixture(gate: { call, _ in
            if call.kind == .document, call.subject == "intent-other-abc.json" { throw CloakroomError(code, "damaged") }
        })
        try await device.tier.putDocument(Data("{}".utf8), named: "intent-other-abc.json")
        try await device.add("first")
        _ = await device.store.run()
        device.clock.pass(days: 8)
        // The weekly look reads it, too.
        try await device.add("new")
        #expect(await device.store.run().uploaded == 1)
        #expect(device.isStored("new"))
    }

    @Test func `what the user removed makes room in a tier that is full`() async throws {
        let device = try StoreFixture()
        for name in ["removed", "kept"] { try await device.add(name) }
        _ = await device.store.run()
        device.remote.setQuota(6000)
        try await device.add("new")
        #expect(await device.store.run().stoppedBy?.code == .storageQuotaExceeded)
        try await device.store.remove(name: "removed")
        let reports = await device.runDaily(5)
        #expect(reports.last?.stoppedBy == nil)
        #expect(!device.isStored("removed"))
        #expect(device.isStored("new"))
        #expect(device.isStored("kept"))
    }

    @Test func `a thumbnail that is made after its photo was uploaded is uploaded, too`() async throws {
        let isBusy = Mutex(true)
        let device = try StoreFixture(
            thumbnailer: ScriptedThumbnailer { _ in
                if isBusy.withLock({ $0 }) { throw CloakroomError(.unavailable, "not now") }
            })
        try await device.add("a")
        #expect(await device.store.run().uploaded == 1)
        #expect(device.remote.account().thumbnails.isEmpty)
        isBusy.withLock { $0 = false }
        device.clock.pass(days: 1)
        #expect(await device.store.run().uploaded == 0)
        let thumbnail = ScriptedThumbnailer.thumbnail(of: StoreFixture.bytes("a")).bytes
        #expect(device.remote.account().thumbnails == [StoreFixture.key("a"): thumbnail])
    }
}
