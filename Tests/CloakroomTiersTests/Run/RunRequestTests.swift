import CloakroomKit
import CloakroomScriptedTier
import CloakroomTiers
import Foundation
import Testing

@Suite(.serialized) struct RunRequestTests {
    @Test func `a run with nothing to do sends no request and writes nothing`() async throws {
        let device = try StoreFixture()
        _ = try await device.addOld("a", "b")
        _ = await device.store.run()
        _ = await device.store.run()
        device.remote.resetRequests()
        let catalog = device.folder.appendingPathComponent("catalog.sqlite")
        let before = try Data(contentsOf: catalog)
        let log = try FileManager.default.attributesOfItem(atPath: catalog.path + "-wal")[.size] as? Int
        let report = await device.store.run()
        #expect(report == TieringReport())
        #expect(device.remote.requestCount == 0)
        #expect(try Data(contentsOf: catalog) == before)
        #expect(try FileManager.default.attributesOfItem(atPath: catalog.path + "-wal")[.size] as? Int == log)
    }

    @Test(arguments: [(RetentionPolicy.UploadTime.whenDue, 3), (.whenAdded, 4)])
    func `a photo costs so many requests`(time: RetentionPolicy.UploadTime, requests: Int) async throws {
        let device = try StoreFixture(RetentionPolicy(uploadTime: time))
        for number in 0..<100 { try await device.add("photo\(number)") }
        if time == .whenAdded { _ = await device.store.run() }
        device.clock.pass(days: 31)
        // Photos that are proven have a weekly look of their own, which is not what is counted here.
        let before = device.remote.requests
        let report = await device.store.run()
        #expect(report.evicted == 100)
        let counted: [TierCall.Kind] = [.put, .putThumbnail, .verify]
        #expect(counted.allSatisfy { device.remote.requests($0) >= 100 })
        let looks = time == .whenAdded ? device.remote.requests(.verify) - (before[.verify] ?? 0) - 100 : 0
        #expect(device.remote.requests(.verify) - looks == (requests - 2) * 100)
        #expect(device.remote.requests(.put) == 100)
        #expect(device.remote.requests(.putThumbnail) == 100)
        #expect(device.remote.requests(.putDocument) <= 2)
    }

    @Test func `conditions are looked at before each photo, and the run goes on when they allow it`() async throws {
        let device = try StoreFixture()
        for number in 0..<40 { try await device.add("photo\(number)") }
        device.tier.script.add(.failBefore(.scriptedOutage), on: .availability)
        #expect(await device.store.run().stoppedBy?.code == .unreachable)
        device.conditions.set(DeviceConditions(network: .expensive))
        let refused = await device.store.run()
        #expect(refused.stoppedBy?.code == .notAllowedNow)
        #expect(device.remote.requests(.put) == 0)
        device.conditions.set(DeviceConditions())
        #expect(await device.store.run().uploaded == 40)
    }

    @Test func `the loss of the network ends the run, and what was under way is finished later`() async throws {
        let conditions = LosingConditions(after: 20)
        let device = try StoreFixture()
        for number in 0..<40 { try await device.add("photo\(number)") }
        let store = try await device.reopened(conditions)
        let report = await store.run()
        #expect(report.stoppedBy?.code == .notAllowedNow)
        #expect((1..<40).contains(report.uploaded))
        await conditions.restore()
        #expect(await store.run().uploaded == 40 - report.uploaded)
    }

    /// The network is there for so many looks.
    private actor LosingConditions: RunConditions {
        private var rest: Int
        init(after: Int) { rest = after }
        func restore() { rest = .max }
        func current() async -> DeviceConditions {
            rest -= 1
            return DeviceConditions(network: rest >= 0 ? .unrestricted : .none)
        }
    }

    @Test func `a run with a pace uploads no faster`() async throws {
        let device = try StoreFixture()
        for number in 0..<6 { try await device.add("photo\(number)") }
        var run = TieringRun.manual
        run.bytesPerSecond = 60_000
        let began = ContinuousClock.now
        #expect(await device.store.run(run).uploaded == 6)
        #expect(ContinuousClock.now - began >= .milliseconds(300))
    }

    @Test func `two runs at once are one`() async throws {
        let device = try StoreFixture()
        for number in 0..<20 { try await device.add("photo\(number)") }
        let store = device.store
        async let first = store.run()
        async let second = store.run()
        let reports = await [first, second]
        #expect(reports[0] == reports[1])
        #expect(device.remote.requests(.put) == 20)
    }

    @Test func `a cancelled run ends soon, and the next one does the rest`() async throws {
        let device = try StoreFixture(gate: { _, _ in try await Task.sleep(for: .milliseconds(2)) })
        for number in 0..<200 { try await device.add("photo\(number)") }
        let store = device.store
        let run = Task { await store.run() }
        try await Task.sleep(for: .milliseconds(20))
        run.cancel()
        let report = await run.value
        #expect(report.stoppedBy?.code == .cancelled)
        let rest = await store.run()
        #expect(rest.stoppedBy == nil)
        #expect(device.remote.account().objects.count == 200)
    }

    @Test func `the progress counts all photos of the run to its end`() async throws {
        let device = try StoreFixture()
        for number in 0..<30 { try await device.add("photo\(number)") }
        let seen = Seen()
        _ = await device.store.run { done, total in seen.add(done, total) }
        #expect(seen.last?.done == 30)
        #expect(seen.last?.total == 30)
    }
}
