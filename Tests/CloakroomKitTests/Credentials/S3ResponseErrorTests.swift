import Foundation
import Testing

@testable import CloakroomKit

@Suite struct S3ResponseErrorTests {
    @Test(
        arguments: [
            (400, "ExpiredToken", .staleCredentials), (400, "InvalidToken", .staleCredentials),
            (400, "TokenRefreshRequired", .staleCredentials), (403, "InvalidAccessKeyId", .staleCredentials),
            (403, "RequestTimeTooSkewed", .skewedClock(theirs: nil, mayBeWrongKeys: false)),
            (403, "SignatureDoesNotMatch", .skewedClock(theirs: nil, mayBeWrongKeys: true)),
            (403, "AccessDenied", .refused), (403, "AllAccessDisabled", .refused), (403, "", .refused),
            (503, "SlowDown", .throttled(retryAfter: nil)), (429, "", .throttled(retryAfter: nil)),
            (500, "InternalError", .transient(retryAfter: nil)), (503, "", .transient(retryAfter: nil)),
            (400, "RequestTimeout", .transient(retryAfter: nil)),
            (409, "OperationAborted", .transient(retryAfter: nil)),
            (404, "NoSuchKey", .refused), (412, "PreconditionFailed", .refused), (400, "InvalidRequest", .refused),
            (400, "", .staleCredentials),
            (301, "PermanentRedirect", .refused),
        ] as [(Int, String, S3ErrorKind)])
    func `status and code say what to do`(status: Int, code: String, kind: S3ErrorKind) {
        #expect(S3ResponseError(status: status, code: code).kind == kind)
    }

    @Test(arguments: [
        // As AWS answers.
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <Error><Code>AccessDenied</Code><Message>Request has expired</Message><X-Amz-Expires>2</X-Amz-Expires>\
        <Expires>2026-11-20T14:00:02Z</Expires><ServerTime>2026-11-20T14:00:05Z</ServerTime>\
        <RequestId>R</RequestId><HostId>H</HostId></Error>
        """,
        // As MinIO, SeaweedFS and others do.
        "<Error><Code>AccessDenied</Code><Message>Request has expired.</Message><Resource>/b/k</Resource></Error>",
    ])
    func `an expired URL is distinguished from a denial`(body: String) {
        let response = HTTPResponse(status: 403, body: Data(body.utf8))
        #expect(S3ResponseError(response).kind == .expiredURL)
        #expect(S3ResponseError(status: 403, code: "AccessDenied", message: "Request has expired").kind == .expiredURL)
        #expect(S3ResponseError(status: 403, code: "AccessDenied", message: "Access Denied").kind == .refused)
    }

    @Test func `everything of a response is read`() {
        let response = HTTPResponse(
            status: 503,
            fields: [("DATE", "Fri, 20 Nov 2026 14:00:00 GMT"), ("Retry-After", "7")],
            body: Data("<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>".utf8))
        let refusal = S3ResponseError(response)
        #expect(
            refusal
                == S3ResponseError(
                    status: 503, code: "SlowDown", message: "Reduce your request rate.",
                    date: "Fri, 20 Nov 2026 14:00:00 GMT", retryAfter: .seconds(7)))
        #expect(refusal.kind == .throttled(retryAfter: .seconds(7)))
        #expect("\(refusal)" == "503 SlowDown: Reduce your request rate.")
    }

    @Test(arguments: [
        "", "<html><body>Bad Gateway</body></html>", "<Error><Code>Expired", "<Error></Error>", "{}",
        "<Error><Code>two words</Code></Error>",
    ])
    func `a body that is no error document leaves the status`(body: String) {
        #expect(
            S3ResponseError(HTTPResponse(status: 403, body: Data(body.utf8))) == S3ResponseError(status: 403, code: ""))
    }

    @Test(arguments: [20_000, 40_000])
    func `elements without end leave the status`(depth: Int) {
        let body = String(repeating: "<a>", count: depth)
        #expect(
            S3ResponseError(HTTPResponse(status: 403, body: Data(body.utf8))) == S3ResponseError(status: 403, code: ""))
    }
}

@Suite struct OperationTests {
    private let fake = FakeRuntime()

    private struct UnrelatedError: Error, Equatable {}

    private func provider(same: Bool = false, failing failures: Set<Int> = []) -> (CredentialProvider, ScriptedVendor) {
        let vendor = ScriptedVendor { [fake] number in
            if failures.contains(number) { throw CloakroomError.vendorUnreachable }
            return .numbered(same ? 0 : number, until: fake.time(in: .seconds(43_200)))
        }
        return (CredentialProvider(vendor: vendor, runtime: fake.runtime), vendor)
    }

    /// Fails with these, one after the other, then succeeds.
    ///
    /// - Returns: the credentials of each try.
    private func tries(_ provider: CredentialProvider, _ errors: [any Error]) async -> [String] {
        var tries: [String] = []
        do {
            try await provider.withCredentials { credentials in
                tries.append(credentials.accessKeyID)
                if tries.count <= errors.count { throw errors[tries.count - 1] }
            }
        } catch {
            tries.append("\(error)")
        }
        return tries
    }

    private static let expired = S3ResponseError(status: 400, code: "ExpiredToken")
    private static let ended = S3ResponseError(status: 403, code: "AccessDenied", message: "Request has expired")
    private static let denied = S3ResponseError(status: 403, code: "AccessDenied")
    private static let wrongKeys = S3ResponseError(
        status: 403, code: "SignatureDoesNotMatch", date: "Fri, 20 Nov 2026 14:01:00 GMT")
    private static let skewed = S3ResponseError(
        status: 403, code: "RequestTimeTooSkewed", date: "Fri, 20 Nov 2026 16:00:00 GMT")
    private static let notSkewed = S3ResponseError(
        status: 403, code: "RequestTimeTooSkewed", date: "Fri, 20 Nov 2026 14:04:59 GMT")
    private static let slowDown = S3ResponseError(status: 503, code: "SlowDown")
    private static let slowDownForLong = S3ResponseError(status: 503, code: "SlowDown", retryAfter: .seconds(6))

    @Test(
        arguments: [
            ([], ["ASIA0"], 0),
            ([expired], ["ASIA0", "ASIA1"], 0),
            ([expired, expired], ["ASIA0", "ASIA1", "400 ExpiredToken"], 0),
            ([wrongKeys], ["ASIA0", "ASIA1"], 0),
            ([ended], ["ASIA0", "ASIA0"], 0),
            ([denied], ["ASIA0", "403 AccessDenied"], 0),
            ([notSkewed], ["ASIA0", "403 RequestTimeTooSkewed"], 0),
            ([slowDown], ["ASIA0", "ASIA0"], 1),
            ([slowDown, expired], ["ASIA0", "ASIA0", "400 ExpiredToken"], 1),
            ([slowDownForLong], ["ASIA0", "503 SlowDown"], 0),
            ([UnrelatedError()], ["ASIA0", "UnrelatedError()"], 0),
        ] as [([any Error], [String], Int)])
    func `tries once more where that helps, never twice`(errors: [any Error], tries: [String], sleeps: Int) async {
        let (provider, _) = provider()
        #expect(await self.tries(provider, errors) == tries)
        #expect(fake.sleeps.count == sleeps)
    }

    @Test func `a corrected clock is worth another attempt`() async {
        let (provider, _) = provider()
        #expect(await tries(provider, [Self.skewed]) == ["ASIA0", "ASIA0"])
        #expect(await provider.clockOffset == .seconds(7200))
    }

    @Test func `the same credentials again are not worth another attempt`() async {
        let (provider, vendor) = provider(same: true)
        #expect(await tries(provider, [Self.expired]) == ["ASIA0", "400 ExpiredToken"])
        #expect(await vendor.requests == 2)
    }

    @Test func `when there are no others, that is the error`() async {
        let (provider, _) = provider(failing: [1])
        #expect(await tries(provider, [Self.expired]) == ["ASIA0", "\(CloakroomError.vendorUnreachable)"])
    }

    @Test func `another client's error is read by the app, and comes out as it was`() async {
        struct OtherError: Error { let code: String }
        let (provider, _) = provider()
        var tries: [String] = []
        await #expect(throws: OtherError.self) {
            try await provider.withCredentials(
                refusal: { ($0 as? OtherError).map { S3ResponseError(status: 400, code: $0.code) } },
                { credentials in
                    tries.append(credentials.accessKeyID)
                    throw OtherError(code: "ExpiredToken")
                })
        }
        #expect(tries == ["ASIA0", "ASIA1"])
    }
}
