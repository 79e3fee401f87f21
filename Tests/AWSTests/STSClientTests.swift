import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

struct STSClientTests {
    private let fake = FakeRuntime()
    private let request = AssumeRole(
        roleARN: "arn:aws:iam::123456789012:role/vending", sessionName: "u_1-t3kf0w", duration: .seconds(3600),
        policy: .init(#"{"a":"b c+d"}"#),
        tags: [.init(key: "UserId", value: "u_1"), .init(key: "Tier", value: "free &")],
        externalID: "x:1")
    private static let assumed = UpstreamResponse(status: 200, body: UpstreamDocuments.assumed)
    private static let credentials = Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))

    private func client(
        _ transport: ScriptedTransport, credentials: CredentialSource = CredentialSource(STSClientTests.credentials),
        retry: RetrySettings = .init()
    ) throws -> STSClient {
        STSClient(
            endpoint: try .sts(region: "eu-west-1"), transport: transport, credentials: credentials, retry: retry,
            runtime: fake.runtime, onAttempt: fake.onAttempt)
    }

    @Test func `asks as STS wants it and reads what it says`() async throws {
        let transport = ScriptedTransport(Self.assumed)
        let role = try await client(transport).assumeRole(request, deadline: fake.deadline())
        let end = Date(timeIntervalSince1970: 1_795_186_800)
        #expect(
            role.credentials
                == Credentials(
                    accessKeyID: "ASIAIOSFODNN7EXAMPLE",
                    secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY"),
                    sessionToken: Secret("AQoDYXdzEPT//////////wEXAMPLE+/=="), expiration: end))
        #expect(role.expiration == end)
        #expect(role.packedPolicySize == 6)
        let sent = try #require(transport.requests.first)
        #expect(sent.method == "POST")
        #expect(sent.url == "https://sts.eu-west-1.amazonaws.com/")
        #expect(
            String(decoding: sent.body, as: UTF8.self)
                == "Action=AssumeRole&Version=2011-06-15"
                + "&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fvending&RoleSessionName=u_1-t3kf0w"
                + "&DurationSeconds=3600&Policy=%7B%22a%22%3A%22b%20c%2Bd%22%7D"
                + "&Tags.member.1.Key=UserId&Tags.member.1.Value=u_1"
                + "&Tags.member.2.Key=Tier&Tags.member.2.Value=free%20%26&ExternalId=x%3A1")
        #expect(
            sent.fields.map(\.name) == ["content-type", "host", "x-amz-date", "authorization"])
        #expect(
            sent.fields["authorization"]?.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKID/20261120/eu-west-1/sts/aws4_request, "
                    + "SignedHeaders=content-type;host;x-amz-date, Signature=") == true)
        #expect(fake.attempts.map(\.fault) == [nil])
    }

    @Test(arguments: ["\u{7F}", "&#x7F;", "&#127;", "\u{80}", "\u{E9}", "&#xE9;", "\u{FFFD}"], [0, 5, 15, 16, 33, 40])
    func `takes no key with a byte from 0x7F on`(character: String, isolation: Int) async throws {
        let key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY"
        let hostile = key.prefix(isolation) + character + key.dropFirst(isolation)
        let text = String(decoding: UpstreamDocuments.assumed, as: UTF8.self)
        for shape in [text, text.replacing(" xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"", with: "")] {
            for (name, whole) in [("SecretAccessKey", key), ("AccessKeyId", "ASIAIOSFODNN7EXAMPLE")] {
                let bad = shape.replacing(
                    "<\(name)>\(whole)</\(name)>", with: "<\(name)>\(hostile)</\(name)>")
                #expect(bad != shape, "\(name)")
                let transport = ScriptedTransport(UpstreamResponse(status: 200, body: Array(bad.utf8)))
                await #expect(throws: STSError.self) {
                    try await client(transport).assumeRole(request, deadline: fake.deadline())
                }
            }
        }
    }

    @Test func `takes a key with any visible ASCII character, wherever it stands`() async throws {
        let key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY"
        let text = String(decoding: UpstreamDocuments.assumed, as: UTF8.self)
        let shapes = [text, text.replacing(" xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"", with: "")]
        for byte in UInt8(0x21)...0x7E where byte != UInt8(ascii: "<") && byte != UInt8(ascii: "&") {
            for isolation in [0, 15, 16, 40] {
                let other = key.prefix(isolation) + String(UnicodeScalar(byte)) + key.dropFirst(isolation)
                for shape in shapes {
                    let document = shape.replacing(">\(key)<", with: ">\(other)<")
                    let transport = ScriptedTransport(UpstreamResponse(status: 200, body: Array(document.utf8)))
                    let role = try await client(transport).assumeRole(request, deadline: fake.deadline())
                    #expect(role.credentials.secretAccessKey.reveal() == other)
                }
            }
        }
    }

    @Test(arguments: [nil, Secret("t/=")])
    func `signs as the whole request would be signed`(token: Secret?) async throws {
        let credentials = Credentials(
            accessKeyID: "AKID", secretAccessKey: Secret("secret"), sessionToken: token)
        let transport = ScriptedTransport(Self.assumed)
        let client = try client(transport, credentials: CredentialSource(credentials))
        for step in 0..<4 {
            _ = try await client.assumeRole(request, deadline: fake.deadline())
            // Twice in one second.
            if step > 0 { fake.pass(.seconds(30)) }
        }
        #expect(Set(transport.requests.map { $0.fields["x-amz-date"] }).count == 3)
        for sent in transport.requests {
            let time = try #require(sent.fields["x-amz-date"].flatMap { Timestamp(basic: $0) })
            let key = SigningKey(
                secretAccessKey: credentials.secretAccessKey, day: time.day, region: "eu-west-1", service: "sts")
            var whole = SigV4.Message(
                method: "POST", path: "/",
                fields: [
                    "content-type": "application/x-www-form-urlencoded; charset=utf-8",
                    "host": "sts.eu-west-1.amazonaws.com",
                ], payloadHash: SHA256.hash(sent.body).hexadecimal)
            SigV4(rules: .others).sign(&whole, with: credentials, key: key, at: time)
            #expect(sent.fields == whole.fields)
        }
    }

    @Test(arguments: [[""], ["{\"a\": é}"], ["", ""], ["{\"a\":[\"x/", "/*\",\"y/", "/*\"]}"]])
    func `fills in a policy as if it had been whole`(parts: [String]) {
        var (filled, whole) = (request, request)
        filled.policy = .init(FormTemplate(parts), filledWith: "u 1+ü")
        whole.policy = .init(parts.joined(separator: "u 1+ü"))
        #expect(filled.form(for: filled.duration) == whole.form(for: whole.duration))
    }

    @Test(arguments: [(nil, "43200"), (Secret("token"), "3600")])
    func `asks for an hour at most when its own credentials are a role's`(token: Secret?, seconds: String) async throws
    {
        let transport = ScriptedTransport(Self.assumed)
        let credentials = Credentials(accessKeyID: "AKID", secretAccessKey: Secret("s"), sessionToken: token)
        var long = request
        long.duration = .seconds(43_200)
        let request = long
        _ = try await client(transport, credentials: CredentialSource(credentials))
            .assumeRole(request, deadline: fake.deadline())
        let form = try #require(transport.requests.first.map { String(decoding: $0.body, as: UTF8.self) })
        #expect(form.contains("&DurationSeconds=\(seconds)&"))
    }

    @Test func `reads Ceph's dialect`() async throws {
        let text = """
            <AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</AccessKeyId>\
            <Expiration>2026-11-20T15:00:00.123456789Z</Expiration><SecretAccessKey>S</SecretAccessKey>\
            <SessionToken>\nT\n</SessionToken></Credentials><AssumedRoleUser><Arn>arn:x</Arn>\
            <AssumeRoleId>R:u</AssumeRoleId></AssumedRoleUser></AssumeRoleResult></AssumeRoleResponse>
            """
        let role = try await client(ScriptedTransport(.xml(200, text))).assumeRole(
            request, deadline: fake.deadline())
        #expect(role.credentials.sessionToken == Secret("T"))
        #expect(role.expiration == Date(timeIntervalSince1970: 1_795_186_800))
    }

    @Test(arguments: [
        ("<SessionToken>AQoDYXdzEPT//////////wEXAMPLE+/==</SessionToken>", "", "NoSessionToken"),
        ("AQoDYXdzEPT//////////wEXAMPLE+/==", "a&#13;&#10;b", "NoSessionToken"),
        ("<Expiration>2026-11-20T15:00:00Z</Expiration>", "", "NoExpiration"),
        ("2026-11-20T15:00:00Z", "tomorrow", "NoExpiration"),
        ("2026-11-20T15:00:00Z", "2026-11-20T14:00:00Z", "AlreadyExpired"),
        ("2026-11-20T15:00:00Z", "2026-11-20T15:05:01Z", "ExpiresTooLate"),
        ("2026-11-20T15:00:00Z", "9999-12-31T23:59:59Z", "ExpiresTooLate"),
    ])
    func `refuses credentials that must not be handed out, at once`(
        part: String, replacement: String, code: String
    ) async throws {
        let text = String(decoding: UpstreamDocuments.assumed, as: UTF8.self)
            .replacingOccurrences(of: part, with: replacement)
        let transport = ScriptedTransport(.xml(200, text))
        await #expect(throws: STSError.unusable(code: code)) {
            try await client(transport).assumeRole(request, deadline: fake.deadline())
        }
        #expect(transport.requests.count == 1)
    }

    @Test(
        arguments: [
            (nil, 3600 + 300, true), (nil, 3600 + 301, false), ("Fri, 20 Nov 2026 14:10:00 GMT", 3600 + 900, true),
            ("Fri, 20 Nov 2026 13:50:00 GMT", 3600 + 300, true), ("Fri, 20 Nov 2026 14:15:00 GMT", 3600 + 1200, true),
            ("Fri, 20 Nov 2026 15:00:00 GMT", 3600 + 1201, false), ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400, false),
        ] as [(String?, Double, Bool)])
    func `takes an end that is later than requested by no more than clocks may differ`(
        date: String?, seconds: Double, isTaken: Bool
    ) async throws {
        let end = fake.runtime.wallClock().addingTimeInterval(seconds)
        let text = String(decoding: UpstreamDocuments.assumed, as: UTF8.self)
            .replacing("2026-11-20T15:00:00Z", with: Timestamp(end).iso8601)
        var fields: HeaderFields = [:]
        if let date { fields.add("Date", date) }
        let transport = ScriptedTransport(UpstreamResponse(status: 200, fields: fields, body: Array(text.utf8)))
        let role = try? await client(transport).assumeRole(request, deadline: fake.deadline())
        #expect(role?.expiration == (isTaken ? end : nil))
        // The worker's own may live as long as its store likes.
        let own = try await client(transport).assumeRole(request, takesLonger: true, deadline: fake.deadline())
        #expect(own.expiration == end)
    }

    @Test(arguments: [
        "", "<html><body>maintenance</body></html>", "<!DOCTYPE x><AssumeRoleResponse/>", "<AssumeRoleResponse/>",
        "<GetCallerIdentityResponse/>", String(repeating: "x", count: 1 << 20),
        String(decoding: UpstreamDocuments.assumed, as: UTF8.self)
            .replacing("AssumeRoleResponse", with: "GetSessionTokenResponse"),
        String(decoding: UpstreamDocuments.assumed.prefix(500), as: UTF8.self),
    ])
    func `tries again what is no answer of STS's`(text: String) async throws {
        let transport = ScriptedTransport(.xml(200, text), .xml(200, text), Self.assumed)
        _ = try await client(transport).assumeRole(request, deadline: fake.deadline())
        #expect(fake.sleeps == [.milliseconds(50), .milliseconds(100)])
        let hopeless = ScriptedTransport(.xml(200, text))
        await #expect(throws: STSError.unusable(code: "MalformedAnswer")) {
            try await client(hopeless).assumeRole(request, deadline: fake.deadline())
        }
    }

    @Test func `gives up on throttling after three attempts, with a second as the base`() async throws {
        let transport = ScriptedTransport(.stsError(400, "Throttling"))
        await #expect(throws: STSError.unavailable(retryAfter: nil, code: "Throttling")) {
            try await client(transport).assumeRole(request, deadline: fake.deadline())
        }
        #expect(fake.sleeps == [.seconds(1), .seconds(2)])
        #expect(fake.attempts.count == 3)
        #expect(fake.attempts.allSatisfy { $0.fault?.kind == .throttled })
    }

    @Test(arguments: [
        ("retry-after", "3", Duration.seconds(3)), ("x-amz-retry-after", "1500", .milliseconds(1500)),
        ("retry-after", "3600", .milliseconds(5050)),
        ("retry-after", "Fri, 20 Nov 2026 14:00:00 GMT", .milliseconds(50)),
    ])
    func `waits as long as it is asked to, within reason`(name: String, value: String, wait: Duration) async throws {
        var fields: HeaderFields = [:]
        fields.add(name, value)
        let transport = ScriptedTransport(UpstreamResponse(status: 503, fields: fields), Self.assumed)
        _ = try await client(transport).assumeRole(request, deadline: fake.deadline())
        #expect(fake.sleeps == [wait])
    }

    @Test(arguments: ["AccessDenied", "PackedPolicyTooLarge", "MalformedPolicyDocument", "RegionDisabledException"])
    func `does not repeat what was refused`(code: String) async throws {
        let transport = ScriptedTransport(.stsError(403, code))
        await #expect(throws: STSError.refused(status: 403, code: code)) {
            try await client(transport).assumeRole(request, deadline: fake.deadline())
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `an error says what it is, without what might be secret`() {
        #expect("\(AWSError(.throttled, status: 400, code: "Throttling"))" == "throttled: 400 Throttling")
        #expect("\(AWSError(.transient, code: "Timeout"))" == "transient: Timeout")
    }

    @Test func `understands a bare error`() async throws {
        let transport = ScriptedTransport(.s3Error(403, "AccessDenied"))
        await #expect(throws: STSError.refused(status: 403, code: "AccessDenied")) {
            try await client(transport).assumeRole(request, deadline: fake.deadline())
        }
    }

    @Test func `lets no foreign text into its errors`() async throws {
        let transport = ScriptedTransport(.stsError(403, "Bad&#10;{secret}"))
        await #expect(throws: STSError.refused(status: 403, code: "Status403")) {
            try await client(transport).assumeRole(request, deadline: fake.deadline())
        }
    }

    @Test(arguments: [
        (TransportError.unreachable, 3), (.timeout, 3), (.interrupted, 3), (.tooLarge, 3), (.untrusted, 1),
        (.invalidRequest, 1), (.cancelled, 1),
    ])
    func `repeats what may have been bad luck`(error: TransportError, attempts: Int) async throws {
        let transport = ScriptedTransport([.failure(error)])
        await #expect(throws: STSError.self) {
            try await client(transport).assumeRole(request, deadline: fake.deadline())
        }
        #expect(transport.requests.count == attempts)
    }

    @Test func `never waits past its deadline`() async throws {
        let transport = ScriptedTransport(.stsError(400, "Throttling"))
        await #expect(throws: STSError.unavailable(retryAfter: nil, code: "Throttling")) {
            try await client(transport).assumeRole(request, deadline: fake.deadline(in: .milliseconds(1500)))
        }
        #expect(fake.elapsed == .seconds(1))
        #expect(transport.timeouts == [.milliseconds(1500), .milliseconds(500)])
        await #expect(throws: STSError.unavailable(retryAfter: nil, code: "DeadlineExceeded")) {
            try await client(transport).assumeRole(request, deadline: fake.deadline(in: .zero))
        }
    }

    @Test func `stops when it is cancelled`() async throws {
        let transport = ScriptedTransport(.stsError(400, "Throttling"))
        let client = try client(transport)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.assumeRole(request, deadline: fake.deadline())
        }
        await #expect(throws: STSError.cancelled) { try await task.value }
        #expect(transport.requests.count == 1)
    }

    @Test func `corrects a skewed clock once, from the answer's date`() async throws {
        let date: HeaderFields = ["Date": "Fri, 20 Nov 2026 15:00:00 GMT"]
        var late = UpstreamResponse(status: 200, body: UpstreamDocuments.assumed)
        late.body = Array(
            String(decoding: late.body, as: UTF8.self).replacingOccurrences(of: "T15:00:00Z", with: "T16:00:00Z").utf8)
        let transport = ScriptedTransport(.stsError(403, "SignatureDoesNotMatch", fields: date), late)
        let client = try client(transport)
        _ = try await client.assumeRole(request, deadline: fake.deadline())
        #expect(transport.requests.map { $0.fields["x-amz-date"] } == ["20261120T140000Z", "20261120T150000Z"])
        #expect(fake.sleeps.isEmpty)
        _ = try await client.assumeRole(request, deadline: fake.deadline())
        #expect(transport.requests.last?.fields["x-amz-date"] == "20261120T150000Z", "it remembers")
    }

    @Test func `does not take a wrong signature for a wrong clock`() async throws {
        let date: HeaderFields = ["Date": "Fri, 20 Nov 2026 14:00:01 GMT"]
        let transport = ScriptedTransport(.stsError(403, "SignatureDoesNotMatch", fields: date))
        await #expect(throws: STSError.refused(status: 403, code: "SignatureDoesNotMatch")) {
            try await client(transport).assumeRole(request, deadline: fake.deadline())
        }
        #expect(transport.requests.count == 1)
    }

    @Test func `asks for other credentials once when its own are refused`() async throws {
        let wallet = Wallet()
        let transport = ScriptedTransport(.stsError(403, "ExpiredToken"), Self.assumed)
        _ = try await client(transport, credentials: wallet.source)
            .assumeRole(request, deadline: fake.deadline())
        #expect(await wallet.refused == ["AKID0"])
        #expect(transport.requests.last?.fields["authorization"]?.contains("Credential=AKID1/") == true)
        let hopeless = ScriptedTransport(.stsError(403, "ExpiredToken"))
        await #expect(throws: STSError.refused(status: 403, code: "ExpiredToken")) {
            try await client(hopeless, credentials: wallet.source).assumeRole(request, deadline: fake.deadline())
        }
        #expect(hopeless.requests.count == 2)
    }

    @Test func `says so when there are no credentials`() async throws {
        struct GoneError: Error {}
        let transport = ScriptedTransport(Self.assumed)
        let source = CredentialSource(current: { throw GoneError() })
        await #expect(throws: STSError.unavailable(retryAfter: nil, code: "NoCredentials")) {
            try await client(transport, credentials: source).assumeRole(request, deadline: fake.deadline())
        }
        #expect(transport.requests.isEmpty)
    }

    /// Whatever is handed out has a token and an end, and fits into a header field.
    @Test func `hands out nothing else, whatever it reads`() async throws {
        var generator = SeededGenerator(seed: 11)
        var vended = 0
        for _ in 0..<3000 {
            let body = UpstreamDocuments.assumed.mutated(using: &generator)
            let transport = ScriptedTransport(UpstreamResponse(status: 200, body: body))
            guard let role = try? await client(transport).assumeRole(request, deadline: fake.deadline()) else {
                continue
            }
            vended += 1
            let words = [
                role.credentials.accessKeyID, role.credentials.secretAccessKey.reveal(),
                role.credentials.sessionToken?.reveal() ?? "",
            ]
            #expect(words.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } })
            let now = fake.runtime.wallClock()
            #expect(role.expiration > now && role.expiration <= now.addingTimeInterval(3600 + 300))
            #expect(role.credentials.expiration == role.expiration)
        }
        #expect(vended > 100)
    }

    @Test func `runs where it is told to`() async throws {
        struct Witness: Transport {
            let isolation: any Actor

            func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
                isolation.preconditionIsolated()
                return UpstreamResponse(status: 200, body: UpstreamDocuments.assumed)
            }
        }
        actor IsolationActor {}
        let isolation = IsolationActor()
        let client = STSClient(
            endpoint: try .sts(region: "eu-west-1"), transport: Witness(isolation: isolation),
            credentials: CredentialSource(Self.credentials), runtime: fake.runtime, isolation: isolation)
        _ = try await client.assumeRole(request, deadline: fake.deadline())
    }

    @Test func `stops repeating when the quota is spent`() async throws {
        let transport = ScriptedTransport([.failure(.timeout)])
        let client = try client(transport, retry: RetrySettings(maximumAttempts: 100, timeout: .seconds(5)))
        await #expect(throws: STSError.unavailable(retryAfter: nil, code: "Timeout")) {
            try await client.assumeRole(request, deadline: fake.deadline(in: .seconds(3600)))
        }
        #expect(transport.requests.count == 1 + 500 / 14)
    }
}

/// Gives other credentials after each refusal.
private actor Wallet {
    private(set) var refused: [String] = []

    nonisolated var source: CredentialSource {
        CredentialSource(current: { await self.current }, onRejected: { await self.refuse($0) })
    }

    private var current: Credentials {
        Credentials(accessKeyID: "AKID\(refused.count)", secretAccessKey: Secret("s"))
    }

    private func refuse(_ credentials: Credentials) { refused.append(credentials.accessKeyID) }
}

struct SessionNameTests {
    private let date = Date(timeIntervalSince1970: 1_795_183_200)

    @Test(arguments: [
        ("u_42", "u_42-tot080"),
        ("u_0b7c1d2e-1111-4222-8333-444455556666", "u_0b7c1d2e-1111-4222-8333-444455556666-tot080"),
        // With 16 digits of its SHA-256.
        ("a b", "a-b-c8687a08aa5d6ed2-tot080"),
        (String(repeating: "x", count: 500), String(repeating: "x", count: 40) + "-c38c2bf3055c516a-tot080"),
    ])
    func `is the user id and the second`(userID: String, name: String) {
        #expect(SessionName.make(userID: userID, at: date) == name)
    }

    @Test(arguments: ["", "a b", "u:1", "ü", String(repeating: "x", count: 500), "a/../b", "*", "\u{0}"])
    func `is valid whatever the user id, and tells users apart`(userID: String) {
        let name = SessionName.make(userID: userID, at: date)
        #expect(name.wholeMatch(of: /[A-Za-z0-9_+=,.@\-]{2,64}/) != nil)
        #expect(SessionName.make(userID: userID + "!", at: date) != name)
    }
}
