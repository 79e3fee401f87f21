import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomScriptedTier
@testable import CloakroomTiers

/// Room that the user wants, and photos that the user wants back.
@Suite(.serialized) struct FreeingTests {
    @Test func `the preview counts what would leave, and removes nothing`() async throws {
        let device = try StoreFixture()
        for number in 0..<10 { try await device.add("photo\(number)") }
        let pinned = try await device.add("pinned")
        try await device.store.pin(pinned)
        let preview = await device.store.freeSpace(.preview)
        #expect(preview.evicted == 10)
        #expect(preview.evictedBytes == 10 * 4096)
        #expect(device.photoFiles.count == 11)
        #expect(device.remote.requestCount == 0)
        let report = await device.store.freeSpace(.perform)
        #expect(report.evicted == preview.evicted)
        #expect(report.evictedBytes == preview.evictedBytes)
        #expect(device.photoFiles.count == 1)
    }

    @Test func `room that is wanted during a run is freed after it`() async throws {
        let device = try StoreFixture(gate: { _, _ in try await Task.sleep(for: .milliseconds(2)) })
        for number in 0..<20 { try await device.add("photo\(number)") }
        let store = device.store
        async let run = store.run()
        try await Task.sleep(for: .milliseconds(10))
        let freed = await store.freeSpace(.perform)
        #expect(await run.evicted == 0)
        #expect(freed.evicted == 20)
    }

    @Test func `the preview says that an alarm keeps everything on the device`() async throws {
        let device = try StoreFixture()
        let id = try await device.addOld("a")[0]
        #expect(await device.store.run().evicted == 1)
        try await device.add("b")
        device.remote.change { $0.objects = [:] }
        #expect(await CloakroomError.code { _ = try await device.store.open(id) } == .photoMissing)
        let preview = await device.store.freeSpace(.preview)
        #expect(preview.evicted == 0)
        #expect(preview.stoppedBy?.code == .alarmRaised)
        #expect(preview.alarms.map(\.kind) == [.missing])
    }

    @Test func `what was viewed within a week stays, however much room is wanted`() async throws {
        let device = try StoreFixture()
        let id = try await device.add("a")
        try await device.add("b")
        _ = try await device.read(id)
        #expect(await device.store.freeSpace(.preview).evicted == 1)
        #expect(await device.store.freeSpace(.perform).evicted == 1)
        #expect(try await device.place(of: id) == .both)
    }

    @Test func `all photos come back, and stay`() async throws {
        let device = try StoreFixture()
        var ids: [PhotoID] = []
        for number in 0..<30 { ids.append(try await device.add("photo\(number)")) }
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 30)
        let seen = Seen()
        let report = await device.store.restoreAll { done, total in seen.add(done, total) }
        #expect(report.restored == 30)
        #expect(report.restoredBytes == 30 * 3000)
        #expect(report.stoppedBy == nil)
        #expect(seen.last?.done == 30)
        #expect(await device.store.policy.period == .forever)
        device.clock.pass(days: 400)
        _ = await device.store.run()
        #expect(device.photoFiles.count == 30)
        for (number, id) in ids.enumerated() {
            #expect(try await device.read(id) == device.bytes["photo\(number)"])
        }
    }

    @Test func `a photo that was opened or removed while others come is not fetched again`() async throws {
        let gate = Gate()
        let (opened, removed) = (StoreFixture.key("photo18"), StoreFixture.key("photo19"))
        let device = try StoreFixture(gate: { call, moment in
            guard call.kind == .fetch, moment == .before, ![opened, removed].contains(call.subject) else { return }
            await gate.pass()
        })
        var ids: [PhotoID] = []
        for number in 0..<20 { ids.append(try await device.add("photo\(number)")) }
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 20)
        device.remote.resetRequests()
        let store = device.store
        let restoring = Task { await store.restoreAll() }
        await gate.arrival(of: 8)
        try await store.open(ids[18]).close()
        await store.keepArrivals()
        try await store.remove(ids[19])
        await gate.open()
        let report = await restoring.value
        #expect(report.restored == 18)
        #expect(report.stoppedBy == nil && report.failures.isEmpty)
        #expect(device.remote.requests(.fetch) == 19)
    }

    @Test func `a restore that is interrupted goes on where it was, and counts what is missing`() async throws {
        let device = try StoreFixture()
        for number in 0..<30 { try await device.add("photo\(number)") }
        device.clock.pass(days: 31)
        #expect(await device.store.run().evicted == 30)
        let lost = try #require(device.remote.account().objects.keys.sorted().first)
        device.remote.change { $0.objects[lost] = nil }
        device.tier.script.add(.failBefore(.scriptedOutage), on: .fetch, skipping: 5, times: 20)
        let first = await device.store.restoreAll()
        #expect(first.stoppedBy?.code == .unreachable)
        device.tier.script.removeAll()
        let second = await device.store.restoreAll()
        #expect(first.restored + second.restored == 29)
        #expect(first.missing + second.missing >= 1)
        #expect(device.photoFiles.count == 29)
    }

    @Test func `the usage tells the disk space here and the bytes there`() async throws {
        let device = try StoreFixture()
        try await device.add("old")
        device.clock.pass(days: 31)
        try await device.add("young")
        _ = await device.store.run()
        let usage = try await device.store.usage()
        #expect(usage.photoCount == 2)
        #expect(usage.hotCount == 1)
        #expect(usage.hotBytes == 4096)
        #expect(usage.coldCount == 2)
        #expect(usage.coldBytes == 6000)
        #expect(usage.missingCount == 0)
        #expect(usage.thumbnailBytes == 2 * 38)
        #expect(usage.catalogBytes > 0)
    }
}
