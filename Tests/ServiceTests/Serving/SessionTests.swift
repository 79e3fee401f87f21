import CloakroomCrypto
import Foundation
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomJSON
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

/// `POST /api/v1/auth/session` and what belongs to it, with an issuer in Apple's place.
@Suite(.onLoop)
struct SessionTests {
    private let issuer: TestIssuer
    init() throws { issuer = try TestIssuer(0) }

    @LoopActor private func service(
        _ keys: String = "requireNonce: false, keyFile: 'id.json'", session: String = "maximumAgeSeconds: 7200",
        limits: String = "", redis: String = "{}", separateRedis: FakeRedis? = nil,
        transport script: @escaping ScriptedTransport.Script = { _ in .assumed() }
    ) throws -> TestService {
        let text = """
            {
              region: "eu-central-1", bucket: "photos", redis: \(redis),
              tokens: {issuers: [{preset: "apple", issuer: "\(TestIssuer.name)", clientIDs: ["app"], \(keys)}]},
              session: {
                issuer: "https://photos.example", \(session),
                keys: [{keyID: "s1", privateKey: {file: "session.pem"}}, {keyID: "s0", secret: {env: "SIGNING"}}],
              },
              vending: {roleARN: "arn:aws:iam::000000000000:role/session"},
              limits: {vend: {whenRedisIsAway: "open"}, session: {requests: 5, whenRedisIsAway: "open"}, \(limits)},
            }
            """
        return try TestService(
            file: (
                text,
                [
                    "/etc/cloakroom/id.json": TestIssuer.keySet([issuer]),
                    "/etc/cloakroom/session.pem": TestIssuer.pem[1],
                ]
            ), separateRedis: separateRedis, transport: script)
    }

    private func post(
        _ service: TestService, _ body: JSON? = nil, token: String? = nil
    ) async -> (status: Int, body: JSON.Object) {
        var text = ""
        if let body {
            var writer = JSONWriter()
            writer.value(body)
            text = String(decoding: writer.bytes, as: UTF8.self)
        }
        let answer = await service.ask(
            "POST", "/api/v1/auth/session", token: token,
            fields: body == nil ? [:] : ["Content-Type": "application/json"], body: text)
        let lines = answer.split(separator: "\n", omittingEmptySubsequences: false)
        let object = (try? JSON(parsing: Array(lines[lines.count - 1].utf8)))?.object
        return (Int(lines[0]) ?? 0, object ?? [:])
    }

    private func signIn(_ service: TestService, _ more: [String: JSON] = [:]) async -> String? {
        let body = await post(service, ["identityToken": .string(issuer.token(now: service.clock.now, more))])
        return body.status == 200 ? body.body["token"]?.string : nil
    }

    private func claims(_ token: String) throws -> JSON.Object {
        let parts = token.split(separator: ".")
        let bytes = try #require(Base64URL.decode(parts[1].utf8))
        return try #require(try JSON(parsing: bytes).object)
    }

    @Test @LoopActor func `gives a session for an identity token, and vends for it`() async throws {
        let service = try service()
        let nonce = SHA256.hash("raw".utf8).hexadecimal
        let token = issuer.token(now: service.clock.now, ["nonce": .string(nonce), "tier": .string("pro")])
        let answer = await post(
            service,
            ["identityToken": .string(token), "nonce": .string("raw"), "deviceId": .string("phone")])
        #expect(answer.status == 200)
        #expect(answer.body["expiresAt"] == .string("2027-01-15T09:00:00Z"))
        let user = "u_" + "\(NameBasedUUID("001.a", in: NameBasedUUID(TestIssuer.name, in: .urls)))"
        #expect(answer.body["userId"] == .string(user))
        let session = try #require(answer.body["token"]?.string)
        let claims = try claims(session)
        #expect(claims["iss"] == .string("https://photos.example") && claims["sub"] == .string(user))
        #expect(claims["auth_time"] == .number(1_800_000_000) && claims["exp"] == .number(1_800_003_600))
        #expect(claims["deviceId"] == .string("phone") && claims["tier"] == .string("pro"))
        #expect(await service.ask("POST", "/api/v1/auth/sts-token", token: session).hasPrefix("200"))
        #expect(service.auditLines.contains(#""kind":"session","user":"\#(user)","device":"phone""#))
        let log = try await service.logLines()
        #expect(!service.auditLines.contains(session) && !log.contains(session.suffix(20)))
    }

    @Test @LoopActor func `takes an identity token nowhere else, and a session token for no sign-in`() async throws {
        let service = try service()
        let identity = issuer.token(now: service.clock.now)
        let refused = await service.ask("POST", "/api/v1/auth/sts-token", token: identity)
        #expect(refused.hasPrefix("401") && refused.hasSuffix(#"{"error":"Invalid auth token","code":"unauthorized"}"#))
        let session = try #require(await signIn(service))
        #expect(await post(service, ["identityToken": .string(session)]).status == 401)
        #expect(await post(service, [:], token: identity).status == 401)
        #expect(try await service.logLines().contains(#""reason":"wrong_use""#))
    }

    @Test @LoopActor func `continues a session until it is too long since the sign-in`() async throws {
        let service = try service()
        var session = try #require(await signIn(service))
        service.clock.pass(3000)
        for (seconds, end) in [(0.0, 1_800_006_600.0), (3000, 1_800_007_200)] {
            service.clock.pass(seconds)
            // With an empty body as with an empty object.
            let answer = await post(service, seconds == 0 ? nil : [:], token: session)
            session = try #require(answer.body["token"]?.string)
            #expect(try claims(session)["exp"] == .number(end))
            #expect(try claims(session)["auth_time"] == .number(1_800_000_000))
        }
        service.clock.pass(1200)
        #expect(await post(service, token: session).status == 401)
        #expect(try await service.logLines().contains(#""reason":"sign_in_too_old""#))
        #expect(await post(service).status == 401)
    }

    /// Who copies an identity token must not sign in later than its owner did.
    @Test @LoopActor func `dates a session by the identity token`() async throws {
        let service = try service()
        let cases: [(claims: [String: JSON], absent: [String], signIn: Double)] = [
            (["iat": .number(1_799_999_000), "auth_time": .number(1_790_000_000)], [], 1_799_999_000),
            (["nbf": .number(1_799_999_400)], ["iat"], 1_799_999_400),
            (["iat": .number(1_800_000_020)], [], 1_800_000_000), (["auth_time": .number(1)], ["iat"], 1_800_000_000),
        ]
        for (claims, absent, signIn) in cases {
            let identity = issuer.token(now: service.clock.now, claims, without: absent)
            let answer = await post(service, ["identityToken": .string(identity)])
            let session = try #require(answer.body["token"]?.string)
            #expect(try self.claims(session)["auth_time"] == .number(signIn), "\(claims)")
        }
    }

    @Test @LoopActor func `refuses Apple's identity token without a nonce`() async throws {
        let service = try service("keyFile: 'id.json'")
        #expect(await signIn(service) == nil)
        #expect(try await service.logLines().contains(#""reason":"nonce_missing""#))
    }

    @Test @LoopActor func `refuses bodies that are none, and too many sign-ins`() async throws {
        let service = try service()
        let token = JSON.string(issuer.token(now: service.clock.now))
        for body in [
            .array([]), .string("x"), ["identityToken": .number(7)], ["identityToken": .string("")],
            ["nonce": .string("raw")], ["identityToken": token, "nonce": .number(7)],
            ["identityToken": token, "deviceId": .string(String(repeating: "x", count: 256))],
            ["identityToken": token, "deviceId": .string("a\nb")],
        ] as [JSON] {
            #expect(await post(service, body).status == 400, "\(body)")
        }
        var statuses: [Int] = []
        for _ in 0..<6 { statuses.append(await post(service, ["identityToken": token]).status) }
        #expect(statuses == [200, 200, 200, 200, 200, 429])
    }

    @Test @LoopActor func `publishes the public keys and no secret`() async throws {
        let service = try service()
        let answer = await service.ask("GET", "/.well-known/jwks.json")
        #expect(answer.hasPrefix("200") && answer.contains("Cache-Control: public, max-age=900"))
        let set = try #require(
            KeySet(jwks: try JSON(parsing: Array(answer.split(separator: "\n").last!.utf8)), origin: .fetched))
        #expect(set.keys.map(\.keyID) == ["s1"] && set.refusals.isEmpty)
        let session = try #require(await signIn(service))
        try set.verify(try JWS(compact: Array(session.utf8)), allowed: [.es256])
    }

    @Test @LoopActor func `has no such routes where nobody signs in`() async throws {
        let service = try TestService()
        for (method, path) in [
            ("POST", "/api/v1/auth/session"), ("GET", "/.well-known/jwks.json"),
            ("POST", "/api/v1/auth/apple/notifications"),
        ] { #expect(await service.ask(method, path, body: #"{"payload":"a.b.c"}"#).hasPrefix("404"), "\(path)") }
    }

    // MARK: Keys that are not there

    @Test @LoopActor func `answers 503 while an issuer's keys were never seen, and asks nobody for that`() async throws
    {
        let service = try service("jwksURL: '\(TestIssuer.keysURL)'") { _ throws(TransportError) in throw .timeout }
        let body: JSON = ["identityToken": .string(issuer.token(now: service.clock.now))]
        #expect(await post(service, body).status == 503)
        #expect(try await service.logLines().contains(#""reason":"keys_unavailable""#))
        #expect(service.transport.requests.isEmpty)
        #expect(service.identity.fault == "no keys of \(TestIssuer.name)")
    }

    // MARK: Apple's notifications

    private func notification(
        _ service: TestService, _ events: JSON?, _ more: [String: JSON] = [:], without: [String] = []
    )
        async -> String
    {
        var claims = more
        claims["events"] = events
        let token = issuer.token(now: service.clock.now, claims, without: ["sub"] + without)
        return await service.ask(
            "POST", "/api/v1/auth/apple/notifications", body: #"{"payload":"\#(token)"}"#)
    }

    private static func event(_ type: String) -> JSON {
        .string(#"{"type":"\#(type)","sub":"001.a","event_time":1800000000000}"#)
    }

    @Test @LoopActor func `takes a notification, or has it sent again while Redis is away`() async throws {
        let service = try service()
        for type in ["email-enabled", "email-disabled", "something-new"] {
            #expect(await notification(service, Self.event(type)).hasPrefix("200\n"), "\(type)")
        }
        for type in ["consent-revoked", "account-deleted", "account-delete"] {
            #expect(await notification(service, Self.event(type)).hasPrefix("503\n"), "\(type)")
        }
        #expect(await notification(service, Self.event("email-enabled"), without: ["exp"]).hasPrefix("200\n"))
    }

    @Test(arguments: [(0, "503"), (1, "200")]) @LoopActor
    func `takes a notification once a replica has the change, where one may take the master's place`(
        reached: Int, status: String
    ) async throws {
        let redis = FakeRedis([
            .redisText("connected_slaves:1\r\n"), ":1\r\n:\(reached)\r\n",
            .redisArray(["1", "consent-revoked", "1800000000"]), .redisArray([nil]), .redisArray([nil, nil]),
            .redisArray([nil, nil]),
        ])
        let service = try service(
            limits: "notification: {requests: 5, whenRedisIsAway: 'open'}",
            redis: "{sentinels: ['sentinel.example:26379'], master: 'main'}", separateRedis: redis)
        let answer = await notification(service, Self.event("consent-revoked"))
        #expect(answer.hasPrefix("\(status)\n"), "\(answer)")
        #expect(try await service.logLines().contains(#""reason":"replicas""#) == (reached == 0))
    }

    @Test @LoopActor func `tells Apple once when to come back, and by which limit it is refused`() async throws {
        let closed = await notification(try service(), Self.event("consent-revoked"))
        #expect(closed.split(separator: "\n").filter { $0.hasPrefix("Retry-After: ") } == ["Retry-After: 1"])
        let service = try service(limits: "notification: {requests: 1, whenRedisIsAway: 'open'}")
        let failed = await notification(service, Self.event("consent-revoked"))
        #expect(failed.hasPrefix("503\n") && failed.contains("\nRateLimit: \"notification\";r=0;t=3600, "))
        #expect(failed.split(separator: "\n").filter { $0.hasPrefix("Retry-After: ") } == ["Retry-After: 1"])
        let refused = await notification(service, Self.event("consent-revoked"))
        #expect(refused.hasPrefix("429\n") && refused.contains("\nRateLimit-Policy: \"notification\";q=1;w=3600, "))
    }

    @Test @LoopActor func `tells notifications and identity tokens apart`() async throws {
        let service = try service()
        let now = service.clock.now
        // No events in a notification; none that can be read; too old; without any time.
        let refused: [String] = [
            await notification(service, nil), await notification(service, .string("{}")),
            await notification(service, ["type": .string("email-enabled")]), await notification(service, .string("[")),
            await notification(service, Self.event("email-enabled"), ["aud": .string("other")]),
            await notification(service, Self.event("email-enabled"), without: ["exp", "iat"]),
            await notification(service, Self.event("email-enabled"), ["iat": .number(1_790_000_000)], without: ["exp"]),
            await notification(service, Self.event("email-enabled"), ["exp": .number(1_790_000_000)]),
        ]
        for answer in refused { #expect(answer.hasPrefix("401\n")) }
        for events in [Self.event("email-enabled"), .null] {
            let token = issuer.token(now: now, ["events": events])
            #expect(await post(service, ["identityToken": .string(token)]).status == 401)
        }
        #expect(try await service.logLines().contains(#""reason":"unexpected_events""#))
        let body = await service.ask("POST", "/api/v1/auth/apple/notifications", body: "{}")
        #expect(body.hasPrefix("400\n"))
    }
}
