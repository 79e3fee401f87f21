import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// Transfers that go on without the process.
@Suite struct OutboxCarrierTests {
    private let bench: OutboxFixture
    private let carrier: FakeCarrier

    init() throws {
        bench = try OutboxFixture()
        carrier = FakeCarrier(bench.s3)
    }

    /// Adds a photo and an asset, hands them to the carrier, and ends the process.
    private func begin() async throws {
        let outbox = try bench.outbox(carrier: carrier)
        try await outbox.add(photo: try bench.photo("one"))
        try await outbox.add(asset: UploadContent("two"), reference: "a")
        #expect(try await carrier.takes(2, of: outbox).stoppedBy?.code == .cancelled)
        await carrier.relaunch()
    }

    @Test func `what may wait for hours has a URL that holds as long`() async throws {
        try await begin()
        let photo = try #require(await carrier.started.first { $0.url.path.contains("photos/") })
        #expect(photo.url.query?.contains("X-Amz-Expires=") == true)
        #expect(!photo.fields.contains { $0.name == "authorization" })
    }

    @Test func `a URL for a photo is signed by the worker's time where the device's clock is ahead`() async throws {
        let bench = try OutboxFixture(serverAhead: .seconds(-1800))
        let carrier = FakeCarrier(bench.s3)
        let outbox = try bench.outbox(carrier: carrier)
        try await outbox.add(photo: try bench.photo("one"))
        try await carrier.takes(1, of: outbox)
        let photo = try #require(await carrier.started.first)
        #expect(photo.url.query?.contains("X-Amz-Date=20261120T133000Z&") == true)
    }

    @Test func `the end of a run leaves transfers to the carrier, and the next process hears of their ends`()
        async throws
    {
        try await begin()
        #expect(await carrier.cancelled == [])
        await carrier.finish()
        let outbox = try bench.outbox(carrier: carrier)
        #expect(await outbox.run().sent == 2)
        #expect(await carrier.started.count == 2)
        #expect(try await outbox.uploadedAssets().map(\.objectKey) == ["assets/asset-1"])
    }

    @Test func `ends that are read late are heard before anything is sent again`() async throws {
        try await begin()
        await carrier.finish()
        await carrier.readSlowly()
        let outbox = try bench.outbox(carrier: carrier)
        let run = Task { await outbox.run() }
        try await until {
            guard await carrier.started.count == 2 else { return true }
            return try await outbox.uploadedAssets().count == 1
        }
        #expect(await carrier.started.count == 2)
        await carrier.finish()
        #expect(await run.value.sent == 2)
    }

    @Test func `a launch by the system begins what follows, and leaves it to the carrier when its time is over`()
        async throws
    {
        let bench = try OutboxFixture(sleeping: .waits)
        let carrier = FakeCarrier(bench.s3)
        var options = Outbox.Options()
        options.transfersAtOnce = 1
        do {
            let outbox = try bench.outbox(carrier: carrier, options: options)
            for text in ["one", "two"] { try await outbox.add(photo: try bench.photo(text)) }
            try await carrier.takes(1, of: outbox)
        }
        await carrier.relaunch()
        await carrier.finish()
        let outbox = try bench.outbox(carrier: carrier, options: options)
        async let report = outbox.run(within: .seconds(20))
        try await until { await carrier.started.count == 2 && bench.fake.sleeps == [.seconds(20)] }
        bench.fake.pass(.seconds(20))
        let ended = await report
        #expect(ended.sent == 1 && ended.unsent.items == 1 && ended.stoppedBy?.code == .cancelled)
        #expect(await carrier.underWay.count == 1)
        #expect(await carrier.cancelled == [])
        await carrier.finish()
        let next = await outbox.run(within: .seconds(20))
        #expect(next.isComplete)
        #expect(await carrier.started.count == 2)
    }

    @Test func `a caller whose task is cancelled, or whose time is over, leaves the run to the others`() async throws {
        let bench = try OutboxFixture(sleeping: .waits)
        let gate = Gate()
        await bench.network.inject("PUT", .held(gate))
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        let first = Task { await outbox.run() }
        try await until { await bench.network.lines.count == 1 }
        let second = Task { await outbox.run() }
        async let third = outbox.run(within: .seconds(20))
        try await until { await outbox.run?.shared.callerCount == 3 && bench.fake.sleeps == [.seconds(20)] }
        first.cancel()
        let left = await first.value
        #expect(left.stoppedBy?.code == .cancelled && left.sent == 0 && left.unsent.items == 1)
        bench.fake.pass(.seconds(20))
        #expect(await third.stoppedBy?.code == .cancelled)
        await gate.open()
        let report = await second.value
        #expect(report.isComplete && report.sent == 1 && report.stoppedBy == nil)
        #expect(await bench.network.lines.count == 1)
    }

    @Test func `what is still under way is waited for, and not sent again`() async throws {
        try await begin()
        let outbox = try bench.outbox(carrier: carrier)
        async let report = outbox.run()
        try await until { await outbox.transfers.waiting.count == 2 }
        await carrier.finish()
        #expect(await report.sent == 2)
        #expect(await carrier.started.count == 2)
    }

    @Test func `a transfer that ends while an outbox looks for it is not waited for`() async throws {
        try await begin()
        let outbox = try bench.outbox(carrier: carrier)
        await carrier.failAfterNextLook()
        async let report = outbox.run()
        try await until { await carrier.started.count == 4 }
        await carrier.finish()
        #expect(await report.sent == 2)
    }

    @Test func `a run after the sign-out takes the next user's outbox no event, and sends nothing`() async throws {
        let bench = try OutboxFixture()
        let carrier = FakeCarrier(bench.s3)
        let former = try bench.outbox(carrier: carrier)
        try await former.signOut(.keepingUnsent)
        let user = StoreOwner(user: "u_2", endpoint: try #require(URL(string: "https://api.example")))
        let next = try bench.outbox(owner: user, carrier: carrier)
        try await next.add(photo: try bench.photo("one"))
        async let report = next.run()
        try await until { await carrier.started.count == 1 }
        #expect(await former.run().stoppedBy?.code == .cancelled)
        await carrier.finish()
        #expect(await report.sent == 1)
    }

    @Test func `an end that the process never heard of is found out, and nothing is stored twice`() async throws {
        try await begin()
        await carrier.finish(isTold: false)
        let outbox = try bench.outbox(carrier: carrier)
        async let report = outbox.run()
        // The photo is found by HEAD; the asset's own URL says that it was used.
        try await until { await carrier.started.count == 3 }
        await carrier.finish()
        #expect(await report.sent == 2)
        #expect(await bench.worker.issued == 1)
        #expect(await bench.s3.objects.count == 2)
    }

    @Test func `a transfer that the system ended is sent again without an error`() async throws {
        try await begin()
        await carrier.fail(.cancelled)
        let outbox = try bench.outbox(carrier: carrier)
        async let report = outbox.run()
        try await until { await carrier.started.count == 4 }
        #expect(try await outbox.items().allSatisfy { $0.state.code == nil })
        await carrier.finish()
        #expect(await report.sent == 2)
    }

    /// Of a row that was made anew, no transfer is known.
    @Test func `the end of an earlier transfer is not that of one to another target`() async throws {
        do {
            let outbox = try bench.outbox(carrier: carrier)
            try await outbox.add(asset: UploadContent("two"), reference: "a")
            try await carrier.takes(1, of: outbox)
        }
        await carrier.relaunch()
        await carrier.finish()
        try bench.damageItems()
        let outbox = try bench.outbox(carrier: carrier)
        async let report = outbox.run()
        try await until { await carrier.started.count == 2 }
        await carrier.fail(.timedOut)
        #expect(await report.sent == 0)
        #expect(try await outbox.uploadedAssets() == [])
        #expect(await bench.s3.objects.keys.sorted() == ["assets/asset-1"])
    }

    @Test func `a sign-out ends what an earlier process began`() async throws {
        try await begin()
        let outbox = try bench.outbox(carrier: carrier)
        #expect(try await outbox.signOut(.keepingUnsent).kept.items == 2)
        #expect(await carrier.transfersUnderWay() == [])
        #expect(await carrier.cancelled.count == 2)
        #expect(await bench.s3.objects.isEmpty)
    }

    @Test func `a removed item is not sent by the carrier either`() async throws {
        try await begin()
        let outbox = try bench.outbox(carrier: carrier)
        for item in try await outbox.items() { try await outbox.remove(item.id) }
        await outbox.run()
        #expect(await carrier.transfersUnderWay() == [])
        #expect(await bench.s3.objects.isEmpty)
    }

    /// Removes an item while the carrier takes its time to say what it has, and lets the run go on meanwhile.
    private func removeSlowly(
        _ id: OutboxItem.ID, from outbox: Outbox, _ meanwhile: () async -> Void = {}
    ) async throws {
        let gate = Gate()
        await carrier.holdLooks(gate)
        let count = await carrier.started.count
        let removal = Task { try await outbox.remove(id) }
        await gate.arrival()
        await meanwhile()
        try await until {
            if await outbox.run?.shared == nil { return true }
            return await carrier.started.count > count
        }
        await gate.open()
        #expect(try await removal.value?.id == id)
        #expect(try bench.files() == [])
        #expect(await carrier.started.count == count)
    }

    @Test func `an item that is being removed is not begun again`() async throws {
        let outbox = try bench.outbox(carrier: carrier)
        let id = try await outbox.add(photo: try bench.photo("one"))
        let run = Task { await outbox.run() }
        try await until { await carrier.started.count == 1 }
        try await removeSlowly(id, from: outbox)
        #expect(await carrier.cancelled.count == 1)
        run.cancel()
    }

    @Test func `an item whose removal begins during the look at the conditions is not begun`() async throws {
        let conditions = HeldConditions()
        let outbox = try bench.outbox(carrier: carrier, conditions: conditions)
        let id = try await outbox.add(photo: try bench.photo("one"))
        let run = Task { await outbox.run() }
        await conditions.gate.arrival()
        try await removeSlowly(id, from: outbox) { await conditions.gate.open() }
        run.cancel()
    }

    @Test func `an item that two calls hold is not begun while one of them does`() async throws {
        let outbox = try bench.outbox()
        let id = try await outbox.add(photo: try bench.photo("one")).rawValue
        await outbox.hold(id)
        await outbox.hold(id)
        await outbox.endHold(id)
        #expect(await outbox.run().sent == 0)
        await outbox.endHold(id)
        #expect(await outbox.run().sent == 1)
    }

    @Test func `a pause and a removal end what the carrier has of an earlier process`() async throws {
        let bench = try OutboxFixture()
        let carrier = FakeCarrier(bench.s3)
        do {
            let outbox = try bench.outbox(carrier: carrier)
            try await outbox.add(photo: try bench.photo("one"))
            try await outbox.add(photo: try bench.photo("two"))
            try await carrier.takes(2, of: outbox)
        }
        await carrier.relaunch()
        #expect(await carrier.underWay.count == 2)
        let outbox = try bench.outbox(carrier: carrier)
        let first = try #require(try await outbox.items().first)
        try await outbox.remove(first.id)
        #expect(await carrier.underWay.count == 1)
        try await outbox.pause()
        #expect(await carrier.underWay.isEmpty)
    }
}

/// A device that takes until the gate is open to say how it is.
private struct HeldConditions: RunConditions {
    let gate = Gate()

    func current() async -> DeviceConditions {
        await gate.pass()
        return DeviceConditions()
    }
}
