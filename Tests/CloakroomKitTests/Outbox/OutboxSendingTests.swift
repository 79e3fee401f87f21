import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct OutboxSendingTests {
    private let bench: OutboxFixture

    init() throws { bench = try OutboxFixture() }

    @Test func `goes by priority, then by age`() async throws {
        var options = Outbox.Options()
        options.transfersAtOnce = 1
        let outbox = try bench.outbox(options: options)
        for (text, priority) in [("a", OutboxPriority.low), ("b", .normal), ("c", .high), ("d", .normal)] {
            try await outbox.add(photo: try bench.photo(text), priority: priority)
        }
        await outbox.run()
        #expect(await bench.network.lines == ["c", "b", "d", "a"].map { "PUT \(OutboxFixture.key($0))" })
    }

    @Test(arguments: [1, 2, 5]) func `so many transfers are under way at once, and no more`(limit: Int) async throws {
        var options = Outbox.Options()
        options.transfersAtOnce = limit
        let outbox = try bench.outbox(options: options)
        let gate = Gate()
        await bench.network.inject("PUT", .held(gate), times: 6)
        for number in 0..<6 { try await outbox.add(photo: try bench.photo("\(number)")) }
        async let report = outbox.run()
        await gate.arrival(of: limit)
        await gate.open()
        #expect(await report.sent == 6)
        #expect(await bench.network.mostAtOnce == limit)
    }

    @Test func `no further transfer begins while as many bytes are under way as may be`() async throws {
        var options = Outbox.Options()
        options.bytesAtOnce = 25
        let outbox = try bench.outbox(options: options)
        for number in 0..<6 { try await outbox.add(photo: try bench.photo("ten bytes\(number)")) }
        let gate = Gate()
        await bench.network.inject("PUT", .held(gate), times: 6)
        async let report = outbox.run()
        await gate.arrival(of: 3)
        await gate.open()
        #expect(await report.sent == 6)
        #expect(await bench.network.mostAtOnce == 3)
    }

    @Test func `what is added during a run is sent by it`() async throws {
        let outbox = try bench.outbox()
        let gate = Gate()
        await bench.network.inject("PUT", .held(gate))
        try await outbox.add(photo: try bench.photo("one"))
        async let report = outbox.run()
        await gate.arrival()
        try await outbox.add(photo: try bench.photo("two"))
        try await until { await bench.s3.objects.count == 1 }
        await gate.open()
        #expect(await report.sent == 2)
    }

    @Test func `a large photo goes in parts, and goes on with those that are there`() async throws {
        let text = String(repeating: "0123456789", count: 5) + "end"
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo(text))
        let parts = Set(["1", "2", "3", "4", "5", "6"])
        await bench.network.inject("PUT", .failure(.untrusted))
        let first = await outbox.run()
        #expect(first.sent == 0 && first.stoppedBy?.code == .untrusted)
        bench.fake.pass(.seconds(3600))
        #expect(await outbox.run().sent == 1)
        #expect(await bench.s3.objects[OutboxFixture.key(text)]?.bytes == Data(text.utf8))
        #expect(parts.count == 6)
        #expect(await bench.network.lines.filter { $0.hasPrefix("POST") }.count == 2)
    }

    @Test func `an unknown outcome is looked up before anything is sent again`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        await bench.network.inject("PUT", .lost)
        #expect(await outbox.run().sent == 0)
        bench.fake.pass(.seconds(60))
        #expect(await outbox.run().sent == 1)
        #expect(await bench.puts() == [OutboxFixture.key("one"): 1])
    }

    @Test func `a photo that S3 has already counts as sent, and another object under its key does not`() async throws {
        await bench.s3.put(OutboxFixture.key("one"), Data("one".utf8))
        await bench.s3.put(OutboxFixture.key("two"), Data("something else".utf8))
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        try await outbox.add(photo: try bench.photo("two"))
        let report = await outbox.run()
        #expect(report.sent == 1 && report.failed == 1)
        #expect(try await outbox.failedItems().map(\.state.code) == [.conditionFailed])
        #expect(await bench.s3.objects[OutboxFixture.key("two")]?.bytes == Data("something else".utf8))
    }

    @Test func `credentials that S3 refuses are looked after, and the photo is signed anew`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        await bench.network.inject("PUT", .response(FakeS3.error(403, "AccessDenied")))
        #expect(await outbox.run().sent == 1)
        #expect(
            await bench.network.lines.map { $0.prefix(4) } == ["PUT ", "HEAD", "GET ", "PUT "])
    }

    @Test func `a store without conditions gets the photo without one`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        await bench.network.inject("PUT", .response(FakeS3.error(501, "NotImplemented")))
        #expect(await outbox.run().sent == 1)
    }

    /// Source: S3 API Reference, PutObject, response elements.
    @Test(arguments: [
        ("x-amz-server-side-encryption", "aws:kms"), ("X-Amz-Server-Side-Encryption", "aws:kms:dsse"),
        ("x-amz-server-side-encryption-customer-algorithm", "AES256"),
    ])
    func `a photo that S3 encrypts with a key is sent by one request, whatever its entity tag`(
        name: String, value: String
    ) async throws {
        await bench.s3.encrypt([(name: name, value: value)])
        let outbox = try bench.outbox()
        for text in ["one", "two"] { try await outbox.add(photo: try bench.photo(text)) }
        let report = await outbox.run()
        #expect(report.sent == 2 && report.isComplete)
        #expect(await bench.network.lines.allSatisfy { $0.hasPrefix("PUT ") })
        #expect(await bench.network.requests.count == 2)
    }

    @Test func `a photo whose entity tag is another MD5 is looked up before it counts as sent`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        let tag = FakeS3.Object(Data("other".utf8)).entityTag
        await bench.network.inject("PUT", .response(HTTPResponse(status: 200, fields: [("ETag", tag)])))
        #expect(await outbox.run().sent == 0)
        #expect(try await outbox.items().map(\.state.code) == [.checksumMismatch])
        bench.fake.pass(.seconds(60))
        #expect(await outbox.run().sent == 1)
        #expect(await bench.network.lines.map { $0.prefix(4) } == ["PUT ", "HEAD", "GET ", "PUT "])
    }

    @Test func `neither a photo nor an asset counts as sent by 200 without an entity tag`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        try await outbox.add(asset: UploadContent("two"), reference: "a")
        let page = HTTPResponse(status: 200, fields: [("Content-Type", "text/html")], body: Data("<html/>".utf8))
        await bench.network.inject("PUT", .response(page), times: 2)
        #expect(await outbox.run().sent == 0)
        #expect(try await outbox.items().map(\.state.code) == [.unavailable, .unavailable])
        #expect(await bench.s3.objects.isEmpty)
        bench.fake.pass(.seconds(60))
        #expect(await outbox.run().sent == 2)
    }

    @Test func `a photo that is sent at once is signed in its fields, and again when S3 says that the clock is off`()
        async throws
    {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        await bench.network.inject("PUT", .response(FakeS3.error(403, "RequestTimeTooSkewed")))
        #expect(await outbox.run().sent == 1)
        let uploads = await bench.network.requests.filter { $0.method == "PUT" }
        #expect(uploads.count == 2)
        for request in uploads {
            #expect(request.url.query == nil)
            #expect(request.fields.contains { $0.name == "authorization" })
        }
    }

    @Test func `a photo that is sent at once is signed by the worker's time where the device's clock is ahead`()
        async throws
    {
        let bench = try OutboxFixture(serverAhead: .seconds(-1800))
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        #expect(await outbox.run().sent == 1)
        let upload = try #require(await bench.network.requests.first)
        #expect(upload.fields.contains { $0.name == "x-amz-date" && $0.value == "20261120T133000Z" })
    }

    @Test func `a photo whose signature S3 calls not valid yet is looked for, and signed once more`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(photo: try bench.photo("one"))
        let refusal = "<Error><Code>AccessDenied</Code><Message>Request is not valid yet</Message></Error>"
        await bench.network.inject("PUT", .response(HTTPResponse(status: 403, body: Data(refusal.utf8))))
        #expect(await outbox.run().sent == 1)
        #expect(await bench.network.lines.map { $0.prefix(4) } == ["PUT ", "HEAD", "GET ", "PUT "])
    }

    @Test func `an asset's result is delivered until it is acknowledged`() async throws {
        do {
            let outbox = try bench.outbox()
            try await outbox.add(asset: UploadContent("two"), reference: "a")
            await outbox.run()
        }
        let outbox = try bench.outbox()
        let assets = try await outbox.uploadedAssets()
        #expect(assets.map(\.reference) == ["a"] && assets.map(\.objectKey) == ["assets/asset-1"])
        let asset = try #require(assets.first)
        #expect(asset.assetURL.absoluteString == "https://cdn.example/assets/asset-1")
        #expect(asset.uploadedBefore == bench.fake.wallTime + 900)
        // Adding it again is no other upload.
        #expect(try await outbox.add(asset: UploadContent("two"), reference: "a") == asset.id)
        #expect(await outbox.run().sent == 0)
        try await outbox.acknowledge(asset.id)
        #expect(try await outbox.uploadedAssets() == [])
        #expect(try await outbox.items() == [])
    }

    @Test(arguments: [10.0, 1000])
    func `an asset of unknown outcome keeps its target until it is known not to be there`(
        pause: Double
    ) async throws {
        let outbox = try bench.outbox()
        try await outbox.add(asset: UploadContent("two"), reference: "a")
        await bench.network.inject("PUT", .lost)
        #expect(await outbox.run().sent == 0)
        bench.fake.pass(.seconds(pause))
        #expect(await outbox.run().sent == 1)
        #expect(await bench.worker.issued == 1)
        #expect(await bench.s3.objects.keys.sorted() == ["assets/asset-1"])
    }

    @Test func `an asset that was not stored gets another target when its URL has expired`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(asset: UploadContent("two"), reference: "a")
        await bench.network.inject("PUT", .failure(.interrupted))
        #expect(await outbox.run().sent == 0)
        bench.fake.pass(.seconds(901))
        // What was sent at the end of the URL may still be stored.
        #expect(await outbox.run().sent == 0)
        #expect(await bench.worker.renewals == 0)
        bench.fake.pass(.seconds(120))
        #expect(await outbox.run().sent == 1)
        #expect(await bench.worker.renewals == 1)
        #expect(try await outbox.uploadedAssets().map(\.objectKey) == ["assets/asset-2"])
    }

    @Test func `a URL that S3 calls expired is replaced, whatever the clock here shows`() async throws {
        let outbox = try bench.outbox()
        try await outbox.add(asset: UploadContent("two"), reference: "a")
        await bench.network.inject("PUT", .response(FakeS3.error(403, "ExpiredToken")))
        #expect(await outbox.run().sent == 1)
        #expect(await bench.worker.issued == 2)
    }
}

extension OutboxItem.State {
    /// Of what has failed, or waits after an error.
    var code: CloakroomError.Code? {
        switch self {
        case .waiting(_, let error): error?.code
        case .failed(let error): error.code
        case .sending, .uploaded: nil
        }
    }
}
