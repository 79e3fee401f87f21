import CloakroomAWS
import CloakroomHTTP
import Testing

struct ReleaseTests {
    private let fake = FakeRuntime()

    private func release(_ mode: ReleaseMode, _ answers: UpstreamResponse...) async throws -> Release {
        let object = try #require(ObjectAddress(key: "chats/a.bin"))
        return try await fake.s3(ScriptedTransport(answers.map { .success($0) }))
            .release(object, mode, deadline: fake.deadline())
    }

    @Test func `a deletion tells whether the bucket keeps a version`() async throws {
        #expect(try await release(.delete, UpstreamResponse(status: 204)) == .deleted(keepsVersion: false))
        #expect(
            try await release(.delete, UpstreamResponse(status: 204, fields: ["x-amz-delete-marker": "true"]))
                == .deleted(keepsVersion: true))
        #expect(try await release(.delete, .s3Error(404, "NoSuchKey")) == .deleted(keepsVersion: false))
    }

    @Test func `a tag tells whether the object has a version, and that there is no object is a success`() async throws {
        #expect(try await release(.tag, UpstreamResponse(status: 200)) == .tagged(isVersioned: false))
        for (version, isVersioned) in [("null", false), ("3HL4kqtJvjVBH40Nrjfkd", true)] {
            let answer = UpstreamResponse(status: 200, fields: ["x-amz-version-id": version])
            #expect(try await release(.tag, answer) == .tagged(isVersioned: isVersioned))
        }
        #expect(try await release(.tag, .s3Error(404, "NoSuchKey")) == .deleted(keepsVersion: false))
        #expect(
            try await release(.tag, .s3Error(405, "MethodNotAllowed", fields: ["x-amz-delete-marker": "true"]))
                == .deleted(keepsVersion: true))
    }

    @Test(arguments: ReleaseMode.allCases)
    func `no other refusal is a success`(mode: ReleaseMode) async throws {
        for (status, code) in [
            (404, "NoSuchBucket"), (403, "AccessDenied"), (405, "MethodNotAllowed"), (501, "NotImplemented"),
        ] {
            #expect(try await release(mode, .s3Error(status, code)) == .misconfigured(code: code))
        }
        #expect(
            try await release(mode, .s3Error(503, "SlowDown", fields: ["retry-after": "9"]))
                == .unavailable(retryAfter: .seconds(9), code: "SlowDown"))
        #expect(
            try await release(mode, .s3Error(200, "InternalError"))
                == .unavailable(retryAfter: nil, code: "InternalError"))
    }

    @Test(arguments: [[], Array("<html>Welcome</html>".utf8), Array("<CopyObjectResult/>".utf8)])
    func `a deletion is done when the store says so as S3 does, and by no other success`(body: [UInt8]) async throws {
        #expect(
            try await release(.delete, UpstreamResponse(status: 200, body: body))
                == .unavailable(retryAfter: nil, code: "Status200"))
    }

    @Test(arguments: ["<html>Welcome</html>", "<CopyObjectResult/>", "OK"])
    func `a tag is set when the response has no body, as that of S3, and by no page`(page: String) async throws {
        #expect(try await release(.tag, .xml(200, page)) == .unavailable(retryAfter: nil, code: "Status200"))
        #expect(
            try await release(.tag, .xml(200, page), UpstreamResponse(status: 200)) == .tagged(isVersioned: false))
    }

    @Test func `a failure that passes is tried again`() async throws {
        #expect(
            try await release(.delete, .s3Error(500, "InternalError"), UpstreamResponse(status: 204))
                == .deleted(keepsVersion: false))
    }

    @Test func `a name is not found only when it is no image of a chat either`() async throws {
        func outcome(_ answer: UpstreamResponse) async throws -> Renewal.Outcome {
            try await fake.s3(ScriptedTransport(answer)).renewal(ofChatImage: "chats/a.bin", deadline: fake.deadline())
        }
        #expect(try await outcome(.s3Error(404, "NoSuchKey")) == .notFound)
        #expect(try await outcome(UpstreamResponse(status: 206)) == .unrenewableObject(code: "ChatImage"))
        #expect(try await outcome(.s3Error(403, "AccessDenied")) == .accessDenied(code: "AccessDenied"))
        #expect(try await outcome(.s3Error(403, "AllAccessDisabled")) == .misconfigured(code: "AllAccessDisabled"))
        #expect(try await outcome(.s3Error(400, "InvalidRequest")) == .misconfigured(code: "InvalidRequest"))
        #expect(try await outcome(.s3Error(404, "NoSuchBucket")) == .misconfigured(code: "NoSuchBucket"))
        #expect(try await outcome(.s3Error(503, "SlowDown")) == .unavailable(retryAfter: nil, code: "SlowDown"))
    }
}
