import CloakroomAWS
import CloakroomCrypto
import CloakroomHTTP
import Testing

/// Requests that are signed here and sent by somebody else.
struct TransferTests {
    private let fake = FakeRuntime()
    private let digest = BodyDigest(md5: MD5.hash(Array("hello".utf8)))
    private let tag = "\"5d41402abc4b2a76b9719d911017c592\""

    private func transfer(_ sender: ScriptedTransport) -> Transfer {
        Transfer(timeout: .seconds(90), deadline: fake.deadline(in: .seconds(600))) {
            request, timeout async throws(AWSError) in
            do throws(TransportError) {
                return try await sender.send(request, timeout: timeout)
            } catch {
                throw AWSError(.transient, code: "\(error)")
            }
        }
    }

    private func key() throws -> ObjectAddress { try #require(ObjectAddress(key: "a b")) }

    @Test func `are signed through the MD5 of a body that is not here`() async throws {
        let sender = ScriptedTransport(.xml(200, "", fields: ["ETag": tag]))
        let stored = try await fake.s3(ScriptedTransport()).put(
            key(), digest: digest, fields: ["content-type": "text/plain"], condition: .ifNoneMatch, by: transfer(sender)
        )
        #expect(stored.entityTag == tag && stored.md5 == "5d41402abc4b2a76b9719d911017c592")
        let sent = try #require(sender.requests.first)
        #expect(sent.url == "https://photos.s3.eu-west-1.amazonaws.com/a%20b" && sent.body.isEmpty)
        #expect(
            sent.fields["content-md5"] == "XUFAKrxLKna5cZ2REBfFkg=="
                && sent.fields["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
        #expect(
            sent.fields["authorization"]?.contains(
                "SignedHeaders=content-md5;content-type;host;if-none-match;x-amz-content-sha256;x-amz-date,") == true)
        #expect(sender.timeouts == [.seconds(90)])
    }

    @Test func `are tried again as other requests are, each try signed anew`() async throws {
        let sender = ScriptedTransport([
            .failure(.interrupted), .success(.s3Error(400, "BadDigest")),
            .success(.xml(200, "", fields: ["ETag": tag])),
        ])
        let part = try await fake.s3(ScriptedTransport())
            .uploadPart(7, of: "u+1", key(), digest: digest, by: transfer(sender))
        #expect(part == tag)
        #expect(sender.requests.map(\.target) == Array(repeating: "/a%20b?partNumber=7&uploadId=u%2B1", count: 3))
        #expect(fake.attempts.map { $0.fault?.code } == ["interrupted", "BadDigest", nil])
    }

    @Test func `end with a checksum's error when S3 has other bytes`() async throws {
        let sender = ScriptedTransport(.xml(200, "", fields: ["ETag": "\"00000000000000000000000000000000\""]))
        await #expect(throws: AWSError(.transient, status: 200, code: "ChecksumMismatch")) {
            try await fake.s3(ScriptedTransport()).put(key(), digest: digest, fields: [:], by: transfer(sender))
        }
    }

    @Test(
        arguments: [
            (200, nil, nil), (206, "bytes 4-9/10", 4), (206, "bytes 5-8/10", nil), (206, "bytes 5-10/10", nil),
            (206, "5-9/10", nil), (206, nil, nil), (206, "bytes 5-9/*", nil),
        ] as [(Int, String?, Int64?)])
    func `take the bytes that were asked for, and no others`(
        status: Int, contentRange: String?, first: Int64?
    ) async throws {
        var fields: HeaderFields = [:]
        if let contentRange { fields.add("Content-Range", contentRange) }
        fields.add("ETag", tag)
        fields.add("Content-Length", "6")
        let sender = ScriptedTransport(.xml(status, "456789", fields: fields))
        let range = ObjectRange(first: 4)
        func get() async throws -> StoredRange? {
            try await fake.s3(ScriptedTransport()).get(key(), range: { range }, entityTag: tag, by: transfer(sender))
        }
        guard let first else {
            await #expect(throws: AWSError(.refused, status: status, code: "UnexpectedRange")) { try await get() }
            return
        }
        let found = try await get()
        #expect(found?.first == first && found?.objectSize == 10 && found?.body == Array("456789".utf8))
        #expect(
            sender.requests.first?.fields["range"] == "bytes=4-" && sender.requests.first?.fields["if-match"] == tag)
    }

    @Test func `ask for the rest from where the last try broke off`() async throws {
        let sender = ScriptedTransport([
            .failure(.interrupted),
            .success(.xml(206, "89", fields: ["ETag": tag, "content-range": "bytes 8-9/10"])),
        ])
        var places: [Int64] = [8, 4]
        let found = try await fake.s3(ScriptedTransport()).get(
            key(), range: { ObjectRange(first: places.removeLast()) }, by: transfer(sender))
        #expect(found?.first == 8)
        #expect(sender.requests.map { $0.fields["range"] } == ["bytes=4-", "bytes=8-"])
    }
}
