import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

struct ObjectTests {
    private let fake = FakeRuntime()

    private func address(_ key: String = "a b") throws -> ObjectAddress { try #require(ObjectAddress(key: key)) }

    private static let stored = UpstreamResponse(
        status: 200,
        fields: [
            "ETag": #""e1""#, "Last-Modified": "Fri, 20 Nov 2026 14:00:00 GMT", "Content-Length": "3",
            "x-amz-expiration": #"expiry-date="Mon, 21 Dec 2026 00:00:00 GMT", rule-id="30%20days""#,
        ], body: Array("abc".utf8))
    private static let expiration = Date(timeIntervalSince1970: 1_797_811_200)

    @Test func `stores an object with a checksum, and learns when it will expire`() async throws {
        let transport = ScriptedTransport(Self.stored)
        let answer = try await fake.s3(transport).put(
            address(), body: Array("abc".utf8), contentType: "text/plain", fields: ["x-amz-tagging": "k=v"],
            condition: .ifNoneMatch, deadline: fake.deadline())
        #expect(answer.entityTag == #""e1""# && answer.expiration == Self.expiration)
        let sent = try #require(transport.requests.first)
        #expect(sent.method == "PUT" && sent.url == "https://photos.s3.eu-west-1.amazonaws.com/a%20b")
        #expect(sent.body == Array("abc".utf8))
        for (name, value) in [
            ("content-type", "text/plain"), ("x-amz-checksum-crc32", "NSRBwg=="), ("x-amz-tagging", "k=v"),
            ("if-none-match", "*"), ("x-amz-content-sha256", SHA256.hash("abc".utf8).hexadecimal),
        ] { #expect(sent.fields[name] == value) }
    }

    @Test func `an answer without an entity tag, or with an error, stored nothing that we know of`() async throws {
        for answer in [
            UpstreamResponse(status: 200), .s3Error(200, "InternalError"), .s3Error(412, "PreconditionFailed"),
        ] {
            await #expect(throws: AWSError.self) {
                try await fake.s3(ScriptedTransport(answer)).put(
                    address(), body: [], contentType: "text/plain", condition: .ifMatch(entityTag: #""e""#),
                    deadline: fake.deadline())
            }
        }
    }

    @Test func `knows its own object again whose answer did not come`() async throws {
        let (lost, refused) = (UpstreamResponse(status: 500), UpstreamResponse.s3Error(412, "PreconditionFailed"))
        func put(_ body: String, _ answers: UpstreamResponse...) async throws -> PutResponse {
            try await fake.s3(ScriptedTransport(answers.map { .success($0) })).put(
                address(), body: Array(body.utf8), contentType: "text/plain", condition: .ifNoneMatch,
                deadline: fake.deadline())
        }
        #expect(try await put("abc", lost, refused, Self.stored).entityTag == #""e1""#)
        await #expect(throws: AWSError(.refused, status: 412, code: "PreconditionFailed")) {
            try await put("abd", lost, refused, Self.stored)
        }
        await #expect(throws: AWSError(.refused, status: 412, code: "PreconditionFailed")) {
            try await put("abc", refused, Self.stored)
        }
    }

    @Test func `sends the entity tag without its quotation marks where only that holds, and the object is the same`()
        async throws
    {
        let refused = UpstreamResponse.s3Error(412, "PreconditionFailed")
        func put(_ answers: UpstreamResponse...) async throws -> [String] {
            let transport = ScriptedTransport(answers.map { .success($0) })
            do {
                let answer = try await fake.s3(transport).put(
                    address(), body: [1], contentType: "text/plain", condition: .ifMatch(entityTag: #""e1""#),
                    deadline: fake.deadline())
                #expect(answer.entityTag == #""e1""#)
            } catch let fault as AWSError {
                #expect(fault.status == 412)
            }
            return transport.requests.map { "\($0.method) \($0.fields["if-match"] ?? "")" }
        }
        #expect(try await put(Self.stored) == [#"PUT "e1""#])
        // As Ceph compares.
        #expect(try await put(refused, Self.stored, Self.stored) == [#"PUT "e1""#, "HEAD ", "PUT e1"])
        // Another object, and none: nothing is overwritten.
        let other = UpstreamResponse(status: 200, fields: ["ETag": #""e2""#])
        #expect(try await put(refused, other) == [#"PUT "e1""#, "HEAD "])
        #expect(try await put(refused, UpstreamResponse(status: 404)) == [#"PUT "e1""#, "HEAD "])
        // Changed between.
        #expect(try await put(refused, Self.stored, refused) == [#"PUT "e1""#, "HEAD ", "PUT e1"])
    }

    @Test func `reads an object whole`() async throws {
        let object = try #require(
            try await fake.s3(ScriptedTransport(Self.stored)).get(address(), deadline: fake.deadline()))
        #expect(object.body == Array("abc".utf8) && object.object.expiration == Self.expiration)
    }

    @Test func `only S3's own word makes an object missing`() async throws {
        let missing = ScriptedTransport(.s3Error(404, "NoSuchKey"))
        #expect(try await fake.s3(missing).get(address(), deadline: fake.deadline()) == nil)
        for answer in [
            UpstreamResponse.s3Error(404, "NoSuchBucket"), .s3Error(403, "AccessDenied"), .xml(404, "<html/>"),
            UpstreamResponse(status: 404),
        ] {
            await #expect(throws: AWSError.self) {
                try await fake.s3(ScriptedTransport(answer)).get(address(), deadline: fake.deadline())
            }
        }
    }

    @Test func `deletes, and reads tags`() async throws {
        let transport = ScriptedTransport(
            UpstreamResponse(status: 204),
            .xml(
                200,
                "<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag><Tag><Key>e</Key><Value/></Tag></TagSet></Tagging>"
            ))
        try await fake.s3(transport).delete(address(), deadline: fake.deadline())
        #expect(try await fake.s3(transport).tags(of: address(), deadline: fake.deadline()) == ["k": "v", "e": ""])
        #expect(transport.requests.map(\.method) == ["DELETE", "GET"])
        #expect(transport.requests.last?.url == "https://photos.s3.eu-west-1.amazonaws.com/a%20b?tagging")
    }

    @Test(arguments: [[], Array("<html>Welcome</html>".utf8), Array("<CopyObjectResult/>".utf8)])
    func `a deletion is done when the store says so as S3 does, and by no other success`(body: [UInt8]) async throws {
        let page = UpstreamResponse(status: 200, body: body)
        await #expect(throws: AWSError(.transient, status: 200, code: "Status200")) {
            try await fake.s3(ScriptedTransport(page)).delete(address(), deadline: fake.deadline())
        }
        let transport = ScriptedTransport(page, UpstreamResponse(status: 204))
        try await fake.s3(transport).delete(address(), deadline: fake.deadline())
        #expect(transport.requests.map(\.method) == ["DELETE", "DELETE"])
    }
}
