import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Synchronization
import Testing

struct S3ClientTests {
    private let fake = FakeRuntime()
    private static let credentials = Credentials(
        accessKeyID: "AKID", secretAccessKey: Secret("secret"), sessionToken: Secret("token"))

    private func client(
        _ transport: ScriptedTransport, renewal: RenewalSettings = .init(), custom: String? = nil
    ) throws -> S3Client {
        try fake.s3(transport, custom: custom, credentials: CredentialSource(Self.credentials), renewal: renewal)
    }

    private func renew(_ answers: UpstreamResponse...) async throws -> Renewal {
        try await client(ScriptedTransport(answers.map { .success($0) })).renew(
            key: "a.bin", deadline: fake.deadline())
    }

    private static let head = UpstreamResponse(
        status: 200,
        fields: [
            "Content-Type": "image/jpeg", "Content-Length": "5", "ETag": #""e1""#,
            "Last-Modified": "Fri, 01 Nov 2026 00:00:00 GMT", "X-Amz-Meta-Owner": "u_1", "Cache-Control": "no-store",
            "x-amz-request-id": "1", "Server": "x",
        ])
    private static let renewed = Renewal.Outcome.renewed(expiration: Date(timeIntervalSince1970: 1_797_811_200))

    @Test func `copies an object onto itself, the storage class named`() async throws {
        let transport = ScriptedTransport(.copied)
        let renewal = try await client(transport).renew(key: "a+b/ü.bin", deadline: fake.deadline())
        #expect(renewal == Renewal(outcome: Self.renewed, counts: AttemptCounts(attempts: 1)))
        var sent = try #require(transport.requests.first)
        let authorization = try #require(sent.fields["authorization"])
        #expect(
            authorization.contains(
                "SignedHeaders=host;x-amz-content-sha256;x-amz-copy-source;x-amz-copy-source-if-unmodified-since;"
                    + "x-amz-date;x-amz-metadata-directive;x-amz-security-token;x-amz-storage-class,"))
        sent.fields["authorization"] = nil
        #expect(
            sent
                == UpstreamRequest(
                    method: "PUT", url: "https://photos.s3.eu-west-1.amazonaws.com/a%2Bb/%C3%BC.bin",
                    fields: [
                        "host": "photos.s3.eu-west-1.amazonaws.com",
                        "x-amz-copy-source-if-unmodified-since": "Thu, 19 Nov 2026 14:00:00 GMT",
                        "x-amz-metadata-directive": "COPY", "x-amz-storage-class": "STANDARD",
                        "x-amz-date": "20261120T140000Z", "x-amz-content-sha256": SigV4.emptyPayloadHash,
                        "x-amz-security-token": "token", "x-amz-copy-source": "photos/a%2Bb/%C3%BC.bin",
                    ]))
    }

    @Test(arguments: [
        ("100%", "100%25"), ("a%2Fb", "a%252Fb"), ("a?versionId=1", "a%3FversionId%3D1"), ("..", ".."),
        ("a/../b", "a/../b"), ("//x//", "//x//"), ("a b", "a%20b"), ("a+b", "a%2Bb"), ("#", "%23"), ("~-._", "~-._"),
        ("日本", "%E6%97%A5%E6%9C%AC"), ("a\r\nHost: x", "a%0D%0AHost%3A%20x"), ("\u{0}", "%00"), ("&=;", "%26%3D%3B"),
    ])
    func `encodes a hostile key once, in the path and in the source`(key: String, encoded: String) async throws {
        let transport = ScriptedTransport(.copied)
        let client = try client(transport, custom: "http://127.0.0.1:18333")
        #expect(await client.renew(key: key, deadline: fake.deadline()).outcome == Self.renewed)
        #expect(transport.requests.first?.url == "http://127.0.0.1:18333/photos/\(encoded)")
        #expect(transport.requests.first?.fields["x-amz-copy-source"] == "photos/\(encoded)")
    }

    @Test(arguments: ["", String(repeating: "x", count: 1025), String(repeating: "ü", count: 513)])
    func `sends no key that cannot be one`(key: String) async throws {
        let transport = ScriptedTransport(.copied)
        let renewal = try await client(transport).renew(key: key, deadline: fake.deadline())
        #expect(renewal == Renewal(outcome: .invalidKey, counts: AttemptCounts()))
        #expect(transport.requests.isEmpty)
    }

    @Test(arguments: [
        (
            UpstreamResponse.s3Error(
                412, "PreconditionFailed", "<Condition>x-amz-copy-source-If-Unmodified-Since</Condition>"),
            Renewal.Outcome.recentlyWritten(expiration: nil)
        ),
        (.s3Error(404, "NoSuchKey"), .notFound),
        (.s3Error(404, "NoSuchBucket"), .misconfigured(code: "NoSuchBucket")),
        (.xml(404, ""), .misconfigured(code: "Status404")),
        (.xml(404, "<html>NoSuchKey</html>"), .misconfigured(code: "Status404")),
        (.s3Error(403, "NoSuchKey"), .accessDenied(code: "NoSuchKey")),
        (.s3Error(301, "PermanentRedirect"), .misconfigured(code: "PermanentRedirect")),
        (.s3Error(400, "AuthorizationHeaderMalformed"), .misconfigured(code: "AuthorizationHeaderMalformed")),
        (.s3Error(403, "AccessDenied"), .accessDenied(code: "AccessDenied")),
        (.s3Error(403, "InvalidObjectState"), .archived),
        (.s3Error(403, "ObjectNotInActiveTierError"), .archived),
        (.s3Error(400, "KeyTooLongError"), .invalidKey),
        (.s3Error(400, "InvalidURI"), .invalidKey),
        (.s3Error(400, "XMinioInvalidObjectName"), .invalidKey),
        (.s3Error(400, "XMinioInvalidResourceName"), .invalidKey),
        (.s3Error(404, "InvalidURI"), .misconfigured(code: "InvalidURI")),
        (
            .s3Error(400, "InvalidArgument", "<Message>Invalid copy source object key</Message>"),
            .invalidKey
        ),
        (
            .s3Error(400, "InvalidRequest", "<Message>… a form of Server Side Encryption …</Message>"),
            .unrenewableObject(code: "InvalidRequest")
        ),
        (.s3Error(400, "KMS.DisabledException"), .misconfigured(code: "KMS.DisabledException")),
        (
            .s3Error(
                403, "AccessDenied",
                "<Message>User: arn:aws:iam::1:user/w is not authorized to perform: kms:Decrypt on this resource</Message>"
            ),
            .misconfigured(code: "KMS.AccessDenied")
        ),
        (.s3Error(400, "ExpiredToken"), .misconfigured(code: "ExpiredToken")),
        (.s3Error(403, "SignatureDoesNotMatch"), .misconfigured(code: "SignatureDoesNotMatch")),
    ])
    func `knows a definite answer at the first try`(answer: UpstreamResponse, outcome: Renewal.Outcome) async throws {
        #expect(try await renew(answer) == Renewal(outcome: outcome, counts: AttemptCounts(attempts: 1)))
    }

    @Test(arguments: [
        UpstreamResponse.s3Error(503, "SlowDown"), .s3Error(500, "InternalError"), .xml(502, "<html>"), .xml(504, ""),
        .xml(429, ""), .s3Error(400, "RequestTimeout"), .s3Error(409, "OperationAborted"),
        .s3Error(200, "InternalError"),
        .s3Error(200, "NoSuchKey"), .s3Error(200, "AccessDenied"), .xml(200, ""), .xml(200, "   \n"),
        .xml(200, "<html></html>"), .xml(200, "<CopyObjectResult/>"),
        .xml(200, "<CopyObjectResult><ETag></ETag></CopyObjectResult>"),
        .xml(200, "<CopyObjectResult><ETag>x</ETag>"),
        .xml(200, "<X><CopyObjectResult><ETag>x</ETag></CopyObjectResult></X>"),
        .xml(200, "<!DOCTYPE x><CopyObjectResult><ETag>x</ETag></CopyObjectResult>"),
        .xml(204, "<CopyObjectResult><ETag>x</ETag></CopyObjectResult>"),
    ])
    func `tries again whatever else it gets`(answer: UpstreamResponse) async throws {
        let patient = try await renew(answer, answer, .copied)
        #expect(patient.outcome == Self.renewed)
        #expect(patient.counts.attempts == 3)
        guard case .unavailable = try await renew(answer).outcome else {
            Issue.record("gave up for good")
            return
        }
    }

    @Test func `takes blanks before the document`() async throws {
        var answer = UpstreamResponse.copied
        answer.body.insert(contentsOf: Array("  \n ".utf8), at: 0)
        #expect(try await renew(answer).outcome == Self.renewed)
    }

    @Test func `counts throttles`() async throws {
        let renewal = try await renew(.s3Error(503, "SlowDown"), .s3Error(503, "SlowDown"), .copied)
        #expect(renewal == Renewal(outcome: Self.renewed, counts: AttemptCounts(attempts: 3, throttles: 2)))
        #expect(fake.attempts.count == 3)
    }

    @Test func `replaces where copying is refused, and remembers`() async throws {
        let transport = ScriptedTransport(.selfCopyRefused, Self.head, .copied, Self.head, .copied)
        let client = try client(transport)
        #expect(await client.renew(key: "a.bin", deadline: fake.deadline()).outcome == Self.renewed)
        #expect(await client.renew(key: "a.bin", deadline: fake.deadline()).outcome == Self.renewed)
        #expect(transport.requests.map(\.method) == ["PUT", "HEAD", "PUT", "HEAD", "PUT"])
        var fields = transport.requests[2].fields
        for name in ["authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"] {
            fields[name] = nil
        }
        #expect(
            fields == [
                "content-type": "image/jpeg", "x-amz-meta-owner": "u_1", "cache-control": "no-store",
                "host": "photos.s3.eu-west-1.amazonaws.com",
                "x-amz-copy-source-if-match": #""e1""#, "x-amz-metadata-directive": "REPLACE",
                "x-amz-storage-class": "STANDARD", "x-amz-tagging-directive": "COPY",
                "x-amz-copy-source": "photos/a.bin",
            ])
    }

    @Test func `keeps to the mode it is given`() async throws {
        let copying = ScriptedTransport(.selfCopyRefused)
        let outcome = try await client(copying, renewal: .init(mode: .copy))
            .renew(key: "a.bin", deadline: fake.deadline()).outcome
        #expect(outcome == .misconfigured(code: "InvalidRequest"))
        let replacing = ScriptedTransport(Self.head, .copied)
        _ = try await client(replacing, renewal: .init(mode: .replace)).renew(key: "a.bin", deadline: fake.deadline())
        #expect(replacing.requests.map(\.method) == ["HEAD", "PUT"])
    }

    private func replace(_ answers: UpstreamResponse...) async throws -> (Renewal, ScriptedTransport) {
        let transport = ScriptedTransport(answers.map { .success($0) })
        let client = try client(transport, renewal: .init(mode: .replace))
        return (await client.renew(key: "a.bin", deadline: fake.deadline()), transport)
    }

    @Test func `takes no HEAD's word for it that an object is gone`() async throws {
        let missing = UpstreamResponse(status: 404)
        let (gone, transport) = try await replace(missing, .s3Error(404, "NoSuchKey"))
        #expect(gone.outcome == .notFound)
        #expect(transport.requests.map(\.method) == ["HEAD", "GET"])
        #expect(transport.requests.last?.fields["range"] == "bytes=0-0")
        #expect(
            try await replace(missing, .s3Error(404, "NoSuchBucket")).0.outcome == .misconfigured(code: "NoSuchBucket"))
        #expect(try await replace(missing, .xml(404, "")).0.outcome == .misconfigured(code: "Status404"))
    }

    @Test func `leaves a young object alone`() async throws {
        var young = Self.head
        young.fields["Last-Modified"] = "Fri, 20 Nov 2026 13:00:00 GMT"
        let (renewal, transport) = try await replace(young)
        #expect(renewal.outcome == .recentlyWritten(expiration: nil))
        #expect(transport.requests.count == 1)
    }

    @Test func `starts over when somebody wrote in between`() async throws {
        var newer = Self.head
        newer.fields["etag"] = #""e2""#
        let conflict = UpstreamResponse.s3Error(412, "PreconditionFailed")
        let (renewal, transport) = try await replace(Self.head, conflict, newer, .copied)
        #expect(renewal.outcome == Self.renewed)
        #expect(transport.requests.last?.fields["x-amz-copy-source-if-match"] == #""e2""#)
        let (never, _) = try await replace(Self.head, conflict, Self.head, conflict)
        #expect(never.outcome == .unavailable(retryAfter: nil, code: "ChangedMeanwhile"))
    }

    @Test(arguments: [("x-amz-missing-meta", "1"), ("x-amz-meta-name", "\u{FFFD}t\u{FFFD}")])
    func `does not replace metadata that it cannot see whole`(name: String, value: String) async throws {
        var head = Self.head
        head.fields.add(name, value)
        let (renewal, transport) = try await replace(head)
        #expect(renewal.outcome == .unrenewableObject(code: "UnreadableMetadata"))
        #expect(transport.requests.count == 1)
    }

    @Test func `keeps the encryption and names the owner`() async throws {
        var head = Self.head
        head.fields.add("x-amz-server-side-encryption", "aws:kms")
        head.fields.add("x-amz-server-side-encryption-aws-kms-key-id", "arn:k")
        let transport = ScriptedTransport(head, .copied)
        let settings = RenewalSettings(
            mode: .replace, storageClass: .named("INTELLIGENT_TIERING"), minimumAge: .zero,
            expectedBucketOwner: "123456789012")
        _ = try await client(transport, renewal: settings).renew(key: "a.bin", deadline: fake.deadline())
        let fields = try #require(transport.requests.last?.fields)
        #expect(fields["x-amz-server-side-encryption-aws-kms-key-id"] == "arn:k")
        #expect(fields["x-amz-storage-class"] == "INTELLIGENT_TIERING")
        #expect(fields["x-amz-expected-bucket-owner"] == "123456789012")
        #expect(fields["x-amz-source-expected-bucket-owner"] == "123456789012")
        #expect(transport.requests.first?.fields["x-amz-expected-bucket-owner"] == "123456789012")
    }

    @Test func `renews every time when no age is asked for`() async throws {
        let transport = ScriptedTransport(.copied)
        _ = try await client(transport, renewal: .init(minimumAge: .zero)).renew(key: "a", deadline: fake.deadline())
        #expect(transport.requests.first?.fields["x-amz-copy-source-if-unmodified-since"] == nil)
    }

    @Test(arguments: [(200, true), (404, false)])
    func `tells whether an object is there`(status: Int, isThere: Bool) async throws {
        let object = try #require(ObjectAddress(key: "a.bin"))
        var answer = Self.head
        answer.status = status
        let stored = try await client(ScriptedTransport(answer)).head(object, deadline: fake.deadline())
        #expect((stored != nil) == isThere)
    }

    @Test(arguments: [
        (UpstreamResponse.xml(206, "x"), true), (.xml(200, ""), true), (.s3Error(416, "InvalidRange"), true),
        (.s3Error(404, "NoSuchKey"), false),
    ])
    func `takes S3's word for whether an object exists`(answer: UpstreamResponse, isThere: Bool) async throws {
        let object = try #require(ObjectAddress(key: "a.bin"))
        let client = try client(ScriptedTransport(answer))
        #expect(try await client.exists(object, deadline: fake.deadline()) == isThere)
    }

    @Test(arguments: [(404, "NoSuchBucket"), (403, "AccessDenied")])
    func `says when it cannot know whether an object exists`(status: Int, code: String) async throws {
        let object = try #require(ObjectAddress(key: "a.bin"))
        let client = try client(ScriptedTransport(.s3Error(status, code)))
        await #expect(throws: AWSError(.refused, status: status, code: code)) {
            _ = try await client.exists(object, deadline: fake.deadline())
        }
    }

    @Test func `corrects its clock after a HEAD that says nothing but 403`() async throws {
        let object = try #require(ObjectAddress(key: "a.bin"))
        let refused = UpstreamResponse(status: 403, fields: ["date": "Fri, 20 Nov 2026 13:00:00 GMT"])
        let transport = ScriptedTransport(refused, Self.head)
        #expect(try await client(transport).head(object, deadline: fake.deadline()) != nil)
        #expect(transport.requests.last?.fields["x-amz-date"] == "20261120T130000Z")
        let forbidden = ScriptedTransport(refused)
        await #expect(throws: AWSError(.refused, status: 403, code: "Status403")) {
            _ = try await client(forbidden).head(object, deadline: fake.deadline())
        }
    }

    @Test(arguments: ["RequestTimeTooSkewed", "SignatureDoesNotMatch"])
    func `corrects a skewed clock once, for copies too`(code: String) async throws {
        let skewed = UpstreamResponse.s3Error(403, code, fields: ["Date": "Fri, 20 Nov 2026 15:00:00 GMT"])
        let transport = ScriptedTransport(skewed, .copied)
        let client = try client(transport)
        for _ in 1...2 {
            #expect(await client.renew(key: "a", deadline: fake.deadline()).outcome == Self.renewed)
        }
        #expect(
            transport.requests.map { $0.fields["x-amz-date"] }
                == ["20261120T140000Z", "20261120T150000Z", "20261120T150000Z"])
        // A day younger than the store's clock shows, and not than ours.
        #expect(
            transport.requests.last?.fields["x-amz-copy-source-if-unmodified-since"] == "Thu, 19 Nov 2026 15:00:00 GMT")
        let stubborn = ScriptedTransport(
            skewed, .s3Error(403, code, fields: ["Date": "Fri, 20 Nov 2026 17:00:00 GMT"]), .copied)
        #expect(
            await (try self.client(stubborn)).renew(key: "a", deadline: fake.deadline()).outcome
                == .misconfigured(code: code))
    }

    @Test func `corrects a skewed clock for all that were on their way`() async throws {
        let transport = SkewedClockTransport(together: 3)
        let client = try fake.s3(transport)
        let fake = fake
        let outcomes = await withTaskGroup(of: Renewal.Outcome.self) { group in
            for key in ["a", "b", "c"] {
                group.addTask { await client.renew(key: key, deadline: fake.deadline()).outcome }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes == [Self.renewed, Self.renewed, Self.renewed])
        #expect(transport.refusals == 3)
    }

    @Test(arguments: [
        (400, "ExpiredToken"), (400, "InvalidToken"), (400, "TokenRefreshRequired"), (403, "InvalidAccessKeyId"),
        (403, "SignatureDoesNotMatch"),
    ])
    func `asks for other credentials once, for copies too`(status: Int, code: String) async throws {
        let refusals = Mutex(0)
        let source = CredentialSource(
            current: {
                Credentials(accessKeyID: "AKID\(refusals.withLock { $0 })", secretAccessKey: Secret("s"))
            }, onRejected: { _ in refusals.withLock { $0 += 1 } })
        func renew(_ transport: ScriptedTransport) async throws -> Renewal.Outcome {
            let client = try fake.s3(transport, credentials: source)
            return await client.renew(key: "a", deadline: fake.deadline()).outcome
        }
        let refusal = UpstreamResponse.s3Error(status, code, fields: ["Date": "Fri, 20 Nov 2026 14:00:01 GMT"])
        let transport = ScriptedTransport(refusal, .copied)
        #expect(try await renew(transport) == Self.renewed)
        #expect(transport.requests.last?.fields["authorization"]?.contains("Credential=AKID1/") == true)
        let hopeless = ScriptedTransport(refusal)
        #expect(try await renew(hopeless) == .misconfigured(code: code))
        #expect(hopeless.requests.count == 2)
    }

    /// Only an answer with NoSuchKey in it, under 404, may cost a user an image.
    @Test func `never calls anything but NoSuchKey not found, whatever it reads`() async throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<3000 {
            let seed = Bool.random(using: &generator) ? UpstreamDocuments.copied : UpstreamDocuments.error
            let body = seed.mutated(using: &generator)
            let status = [200, 200, 404, 403, 400, 412, 500].randomElement(using: &generator) ?? 200
            let fake = FakeRuntime()
            let client = try fake.s3(
                ScriptedTransport(UpstreamResponse(status: status, body: body)),
                credentials: CredentialSource(Self.credentials))
            let text = String(decoding: body, as: UTF8.self)
            switch await client.renew(key: "a", deadline: fake.deadline()).outcome {
            case .notFound: #expect(status == 404 && text.contains("NoSuchKey"))
            case .renewed: #expect(status == 200 && text.contains("<ETag") && text.contains("CopyObjectResult"))
            case .recentlyWritten: #expect(status == 412)
            case .archived, .invalidKey, .unrenewableObject, .accessDenied, .refused, .misconfigured, .unavailable:
                break
            }
        }
    }
}
