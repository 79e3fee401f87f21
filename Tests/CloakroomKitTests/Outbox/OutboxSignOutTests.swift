import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite(.timeLimit(.minutes(1))) struct OutboxSignOutTests {
    @Test func `kept work waits for the same user, and goes out under no other`() async throws {
        let bench = try OutboxFixture()
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        #expect(try await outbox.unsent() == UnsentWork(items: 1, bytes: 3, failed: 0))
        let report = try await outbox.signOut(.keepingUnsent)
        #expect(report.kept.items == 1 && report.removed == [])
        #expect(await outbox.run().stoppedBy?.code == .cancelled)
        await #expect(throws: CloakroomError.self) { try await outbox.add(photo: try bench.photo("two")) }
        #expect(await (try bench.outbox(owner: .next)).run().sent == 0)
        #expect(await bench.network.requests.isEmpty)
        #expect(await (try bench.outbox()).run().sent == 1)
    }

    @Test func `the next user's outbox goes on with the process's carrier`() async throws {
        let bench = try OutboxFixture()
        let carrier = TransportCarrier(transport: bench.network, runtime: bench.fake.runtime)
        for owner in [StoreOwner.test, .next] {
            let outbox = try bench.outbox(owner: owner, carrier: carrier)
            try await outbox.add(photo: try bench.photo("one"))
            #expect(await outbox.run().sent == 1)
            try await outbox.signOut(.keepingUnsent)
        }
    }

    /// - Parameter text: of a photo that goes as one request, or in parts, two at once.
    @Test(arguments: [("one", 1), (String(repeating: "large ", count: 20), 2)])
    func `nothing is sent after it has returned, not by a transfer under way either`(
        text: String, requests: Int
    ) async throws {
        let bench = try OutboxFixture()
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo(text))
        let gate = Gate()
        await bench.network.inject("PUT", .held(gate), times: 9)
        async let report = outbox.run()
        await gate.arrival(of: requests)
        #expect(try await outbox.signOut(.keepingUnsent).kept.items == 1)
        let sent = await bench.network.requests.count
        await gate.open()
        _ = await report
        await bench.fake.settle()
        #expect(await bench.network.requests.count == sent)
        #expect(await bench.s3.objects.isEmpty)
    }

    @Test func `discarding says what it removed, and leaves results that were not acknowledged`() async throws {
        let bench = try OutboxFixture()
        do {
            let outbox = try bench.outbox()
            try await outbox.add(asset: UploadContent("done"), reference: "done")
            await outbox.run()
            try await outbox.add(photo: try bench.photo("one"))
            try await outbox.add(asset: UploadContent("two"), reference: "a")
            let report = try await outbox.signOut(.discardingUnsent)
            #expect(report.removed.map(\.byteCount) == [3, 3] && report.kept.isEmpty)
        }
        #expect(try bench.files().allSatisfy { $0.hasSuffix(".json") })
        let outbox = try bench.outbox()
        #expect(try await outbox.uploadedAssets().map(\.reference) == ["done"])
        #expect(await outbox.run().sent == 0)
    }

    @Test func `sends first, for as long as there is time`() async throws {
        let bench = try OutboxFixture(sleeping: .waits)
        var options = Outbox.Options()
        options.transfersAtOnce = 1
        let outbox = try bench.outbox(options: options)
        try await outbox.add(photo: try bench.photo("one"))
        try await outbox.add(photo: try bench.photo("two"))
        let gate = Gate()
        await bench.network.inject(OutboxFixture.key("two"), .held(gate))
        async let report = outbox.signOut(.afterSending(within: .seconds(30)))
        await gate.arrival()
        try await until { !bench.fake.sleeps.isEmpty }
        bench.fake.pass(.seconds(30))
        let found = try await report
        #expect(found.sent == 1 && found.kept.items == 1 && found.stoppedBy?.code == .timedOut)
        #expect(await bench.s3.objects.keys.sorted() == [OutboxFixture.key("one")])
    }

    @Test func `with nothing left it ends before the time is over`() async throws {
        let bench = try OutboxFixture(sleeping: .waits)
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        let report = try await outbox.signOut(.afterSending(within: .seconds(30)))
        #expect(report.sent == 1 && report.kept.isEmpty && report.stoppedBy == nil)
    }

    @Test func `what is retried is waited for, while there is time`() async throws {
        let bench = try OutboxFixture(sleeping: .waits)
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        await bench.network.inject("PUT", .failure(.interrupted))
        async let report = outbox.signOut(.afterSending(within: .seconds(30)))
        try await until { bench.fake.sleeps.count == 2 }
        bench.fake.pass(.seconds(2))
        let found = try await report
        #expect(found.sent == 1 && found.kept.isEmpty && found.stoppedBy == nil)
    }

    /// The device slept over both: the next attempt is due, and the time is over.
    @Test func `a sign-out whose time is over begins no other run`() async throws {
        let bench = try OutboxFixture(sleeping: .waits)
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        await bench.network.inject("PUT", .failure(.interrupted))
        async let report = outbox.signOut(.afterSending(within: .seconds(1)))
        try await until { bench.fake.sleeps.count == 2 }
        let gate = Gate()
        await bench.network.inject("HEAD", .held(gate), times: 9)
        bench.fake.pass(.seconds(5))
        let found = try await report
        #expect(found.kept.items == 1 && found.stoppedBy?.code == .timedOut)
        await gate.open()
    }

    @Test func `the time is over also while another call waits`() async throws {
        let bench = try OutboxFixture(sleeping: .waits)
        let outbox = try bench.outbox()
        try await outbox.add(asset: UploadContent("one"), reference: "a")
        await bench.worker.fail(CloakroomError(.unavailable, "later", retryAfter: .seconds(600)), times: 9)
        let sending = Task { await outbox.keepSending() }
        try await until { bench.fake.sleeps.count == 1 }
        async let report = outbox.signOut(.afterSending(within: .seconds(70)))
        try await until { bench.fake.sleeps.count == 3 }
        // The other one has slept, and does so again.
        bench.fake.pass(.seconds(61))
        try await until { bench.fake.sleeps.count == 3 }
        bench.fake.pass(.seconds(10))
        #expect(try await report.stoppedBy?.code == .timedOut)
        sending.cancel()
        await sending.value
    }

    @Test func `what was removed is told although a file could not be`() async throws {
        let bench = try CloakroomBench()
        let cloakroom = try bench.cloakroom()
        let outbox = try cloakroom.outbox()
        try await outbox.add(photo: try bench.folder.write("a.heic", Data("a photo".utf8)))
        let other = await outbox.folder.files.appendingPathComponent("other")
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
        await #expect(throws: CloakroomError.self) { try await cloakroom.signOut(.discardingUnsent) }
        try FileManager.default.removeItem(at: other)
        #expect(try await cloakroom.signOut(.discardingUnsent).removed.count == 1)
    }

    @Test func `a file that cannot be removed keeps no item`() async throws {
        let bench = try OutboxFixture()
        do {
            let outbox = try bench.outbox()
            try await outbox.add(photo: try bench.photo("one"))
            // No file: `unlink` refuses it, whoever asks.
            try FileManager.default.createDirectory(
                at: bench.own.appendingPathComponent("files/other"), withIntermediateDirectories: false)
            await #expect(throws: CloakroomError.self) { try await outbox.signOut(.discardingUnsent) }
        }
        #expect(try bench.files() == ["other"])
        #expect(try await bench.outbox().items() == [])
    }
}
