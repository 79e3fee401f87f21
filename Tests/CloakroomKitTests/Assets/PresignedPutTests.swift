import Foundation
import Testing

@testable import CloakroomKit

@Suite struct PresignedPutTests {
    private let fake = FakeRuntime()
    private let body = HTTPBody.bytes(Data("picture".utf8))
    private static let stored = ScriptedHTTP.Step.response(200, [("ETag", "\"0cb988d042a7f28dd5fe2b55b3f5ac7a\"")])

    private func target(
        query: String = "If-None-Match=%2A&X-Amz-Signature=5ec2e7",
        fields: [String: String] = ["Content-Type": "image/jpeg"], expiration: Date? = nil
    ) throws -> UploadTarget {
        UploadTarget(
            objectKey: "k.bin", uploadURL: try #require(URL(string: "https://s3.example/k.bin?\(query)")),
            assetURL: try #require(URL(string: "https://cdn.example/k.bin")), expiration: expiration, fields: fields)
    }

    private static func xml(
        _ status: Int, _ code: String, _ message: String = "", _ fields: [(name: String, value: String)] = []
    ) -> ScriptedHTTP.Step {
        .response(
            status, fields,
            Data("<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>\(message)</Message></Error>".utf8))
    }

    private func outcome(_ http: ScriptedHTTP, _ target: UploadTarget) async throws -> CloakroomError? {
        do {
            try await CloakroomClient.test(http, fake).upload(body, to: target)
            return nil
        } catch let error as CloakroomError {
            #expect(!"\(error)".contains("5ec2e7"))
            return error
        }
    }

    @Test func `sends the given fields and nothing else, without the app's token`() async throws {
        let http = ScriptedHTTP(Self.stored)
        let fields = ["content-type": "image/jpeg", "Content-Length": "7", "x-amz-checksum-sha256": "q=", "Host": "h"]
        #expect(try await outcome(http, try target(fields: fields)) == nil)
        let sent = try #require(await http.sent.first)
        #expect(sent.line == "PUT https://s3.example/k.bin?If-None-Match=%2A&X-Amz-Signature=5ec2e7")
        #expect(
            sent.request.fields.map { "\($0.name): \($0.value)" } == [
                "content-type: image/jpeg", "x-amz-checksum-sha256: q=",
            ])
        #expect(sent.text == "picture")
    }

    @Test func `a URL for another length is not used`() async throws {
        let http = ScriptedHTTP()
        #expect(
            try await outcome(http, try target(fields: ["Content-Length": "8"]))
                == CloakroomError(.invalidRequest, "The upload URL is for 8 bytes, not 7"))
    }

    @Test(arguments: [201, 204, 206, 302])
    func `nothing but 200 is a success`(status: Int) async throws {
        #expect(
            try await outcome(ScriptedHTTP(.response(status)), try target())
                == CloakroomError(.invalidResponse, "The response is not S3's", status: status))
    }

    /// Of a proxy that blocks the address, or of a hotspot.
    @Test(arguments: [[("Content-Type", "text/html")], [("ETag", "")]])
    func `200 without an entity tag is not S3's, and is tried again`(fields: [(name: String, value: String)])
        async throws
    {
        let page = ScriptedHTTP.Step.response(200, fields, Data("<html>Welcome</html>".utf8))
        let http = ScriptedHTTP(page, Self.stored)
        #expect(try await outcome(http, try target()) == nil)
        #expect(await http.sent.count == 2)
        #expect(try await outcome(ScriptedHTTP { _, _ in page }, try target())?.code == .unavailable)
    }

    @Test func `an object that is there already is the one sent before`() async throws {
        let precondition = Self.xml(412, "PreconditionFailed")
        #expect(try await outcome(ScriptedHTTP(.failure(.interrupted), precondition), try target()) == nil)
        #expect(try await outcome(ScriptedHTTP(precondition), try target()) == nil)
        let fields = ["Content-Type": "image/jpeg", "If-None-Match": "*"]
        #expect(try await outcome(ScriptedHTTP(precondition), try target(query: "a=5ec2e7", fields: fields)) == nil)
    }

    @Test(arguments: [
        (true, ScriptedHTTP.Step.response(412)), (true, PresignedPutTests.xml(412, "SomethingElse")),
        (false, PresignedPutTests.xml(412, "PreconditionFailed")),
    ])
    func `any other 412 is no success`(createsOnly: Bool, response: ScriptedHTTP.Step) async throws {
        let target = try target(query: createsOnly ? "If-None-Match=*" : "a=b")
        #expect(try await outcome(ScriptedHTTP(response), target)?.code == .conditionFailed)
    }

    private static let passing: [ScriptedHTTP.Step] = [
        xml(503, "SlowDown"), xml(503, "ServiceUnavailable"), xml(500, "InternalError"), xml(400, "RequestTimeout"),
        xml(409, "ConditionalRequestConflict"), .response(502), .failure(.timedOut), .failure(.interrupted),
        .failure(.unreachable),
    ]

    @Test(arguments: passing)
    func `what may pass is tried again`(fault: ScriptedHTTP.Step) async throws {
        #expect(try await outcome(ScriptedHTTP(fault, fault, Self.stored), try target()) == nil)
        #expect(fake.sleeps == [.milliseconds(250), .milliseconds(500)])
    }

    private static let refusals: [(ScriptedHTTP.Step, CloakroomError.Code)] = [
        (xml(403, "AccessDenied", "Request has expired"), CloakroomError.Code.uploadURLExpired),
        (xml(403, "AccessDenied", "The trial of this account has expired"), .accessDenied),
        (
            xml(403, "AccessDenied", "Zu sp\u{E4}t</Message><X-Amz-Expires>900</X-Amz-Expires><Message>"),
            .uploadURLExpired
        ),
        (xml(400, "ExpiredToken", "The provided token has expired."), .uploadURLExpired),
        (xml(403, "InvalidAccessKeyId"), .uploadURLExpired), (xml(403, "ExpiredPresignRequest"), .uploadURLExpired),
        (xml(403, "AccessDenied", "Request is not valid yet"), .unavailable),
        (xml(403, "RequestTimeTooSkewed"), .unavailable), (xml(403, "AccessDenied", "Access Denied"), .accessDenied),
        (xml(403, "SignatureDoesNotMatch"), .accessDenied), (xml(400, "BadDigest"), .checksumMismatch),
        (xml(400, "EntityTooLarge"), .bodyTooLarge), (xml(400, "InvalidArgument"), .invalidRequest),
        (xml(404, "NoSuchBucket"), .unavailable), (.response(403), .invalidResponse),
        (.response(203), .invalidResponse), (.failure(.unreadableFile), .unreadableFile),
        (.failure(.untrusted), .untrusted), (.failure(.notAllowedNow), .notAllowedNow),
    ]

    @Test(arguments: refusals)
    func `what S3 refuses is told by its code, without a second try`(
        response: ScriptedHTTP.Step, code: CloakroomError.Code
    ) async throws {
        #expect(try await outcome(ScriptedHTTP(response), try target())?.code == code)
    }

    @Test func `an error has S3's code and request`() async throws {
        let response = Self.xml(403, "AccessDenied", "k.bin?X-Amz-Signature=5ec2e7", [("x-amz-request-id", "44")])
        #expect(
            try await outcome(ScriptedHTTP(response), try target())
                == CloakroomError(
                    .accessDenied, "S3 refuses the upload", status: 403, serverCode: "AccessDenied", requestID: "44"))
    }

    @Test func `a URL that has ended by the server's clock is not tried`() async throws {
        let end = fake.wallTime.addingTimeInterval(600)
        let http = ScriptedHTTP(
            Self.stored, .json(503, "", [("Date", "Fri, 20 Nov 2026 15:00:00 GMT"), ("Retry-After", "99")]))
        let client = try CloakroomClient.test(http, fake)
        // Our own clock may be wrong: S3 knows better.
        fake.setWallClock(ahead: .seconds(86_400))
        try await client.upload(body, to: try target(expiration: end))
        await #expect(throws: CloakroomError.self) { try await client.vendCredentials() }
        await #expect(throws: CloakroomError(.uploadURLExpired, "The upload URL has expired")) {
            try await client.upload(body, to: try target(expiration: end))
        }
        #expect(await http.sent.count == 2)
    }

    @Test func `waits for S3's Retry-After, within the upload's own deadline`() async throws {
        let slow = Self.xml(503, "SlowDown", "", [("Retry-After", "120")])
        #expect(try await outcome(ScriptedHTTP(slow, Self.stored), try target()) == nil)
        #expect(fake.sleeps == [.milliseconds(120_250)])
    }
}
