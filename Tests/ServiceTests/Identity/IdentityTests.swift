import Foundation
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomJSON
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomServer

/// Several issuers together, with keys that are fetched.
@Suite(.onLoop)
struct IdentityTests {
    private let time = TestTime()

    @LoopActor private func identity(_ issuers: String, _ transport: ScriptedTransport) throws -> Identity {
        let text = """
            {
              region: "eu-central-1", bucket: "photos", tokens: {issuers: [\(issuers)]},
              vending: {roleARN: "arn:aws:iam::000000000000:role/session"},
            }
            """
        return Identity(
            settings: try parsed(text), transport: transport, runtime: time.runtime,
            metrics: try Metrics(), log: Log(sink: nil, level: .error))
    }

    private func parsed(_ text: String) throws -> Settings { try settings(text) }

    private static let remote = """
        {issuer: "\(TestIssuer.name)", audiences: ["app"], jwksURL: "\(TestIssuer.keysURL)", subjects: "plain"}
        """

    @LoopActor private func outcome(_ identity: Identity, _ token: String) async -> Result<Subject, IdentityRefusal> {
        let request = Request(method: "POST", target: "/", fields: ["Authorization": "Bearer \(token)"])
        switch identity.authenticator.identify(request) {
        case .subject(let subject): return .success(subject)
        case .refused(let refusal): return .failure(refusal)
        case .waiting(let identified): return await identified()
        }
    }

    @LoopActor private func fetchOnce(_ identity: Identity) async {
        // The test's sleep ends the loop of fetches after the first.
        for task in identity.startRefreshingKeys() { await task.value }
    }

    @Test @LoopActor func `the same subject of two issuers is two users`() async throws {
        let hmac = """
            {issuer: "https://%.example", audiences: ["app"], secret: {env: "SIGNING"} #}
            """
        let key = try #require(HMACKey(Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8)))
        let transport = ScriptedTransport { _ in .text(500, "") }
        func users(_ marks: [String]) async throws -> [String] {
            let issuers = zip(["a", "b"], marks).map {
                hmac.replacing("%", with: $0).replacing("#", with: $1)
            }
            let identity = try identity(issuers.joined(separator: ","), transport)
            var users: [String] = []
            for name in ["a", "b"].prefix(marks.count) {
                let token = TokenSigner(issuer: "https://\(name).example", audience: "app", key: key)
                    .token(subject: "u_1", now: time.clock.now, lifetime: .seconds(60))
                users.append(try await outcome(identity, token).get().userID.text)
            }
            return users
        }
        func mapped(_ name: String) -> String { UserID(mapping: "u_1", of: "https://\(name).example").text }
        #expect(try await users([""]) == ["u_1"])
        #expect(try await users([", subjects: 'mapped'"]) == [mapped("a")])
        #expect(try await users(["", ", subjects: 'mapped'"]) == [mapped("a"), mapped("b")])
        #expect(try await users(["", ", subjects: 'plain'"]) == [mapped("a"), "u_1"])
        // What a mapped subject becomes, a plain one cannot be.
        #expect(UserID(issuer: "https://b.example", subject: mapped("a")).text != mapped("a"))
    }

    @Test @LoopActor func `a cached token falls when its key does`() async throws {
        let (old, new) = (try TestIssuer(0), try TestIssuer(1))
        let published = Mutex(TestIssuer.keySet([old, new]))
        let transport = ScriptedTransport { _ in .text(200, published.withLock { $0 }) }
        let identity = try identity(Self.remote, transport)
        await fetchOnce(identity)
        let tokens = (old.token("u_1", now: time.clock.now), new.token("u_1", now: time.clock.now))
        #expect(try await outcome(identity, tokens.0).get().userID.text == "u_1")
        #expect(try await outcome(identity, tokens.1).get().userID.text == "u_1")
        published.withLock { $0 = TestIssuer.keySet([new]) }
        await fetchOnce(identity)
        #expect(await outcome(identity, tokens.0) == .failure(.token(.unknownKey)))
        #expect(try await outcome(identity, tokens.1).get().userID.text == "u_1")
    }

    @Test @LoopActor func `an unknown kid of a rotated set is learnt in the request that brings it`() async throws {
        let (old, new) = (try TestIssuer(0), try TestIssuer(1))
        let published = Mutex(TestIssuer.keySet([old]))
        let transport = ScriptedTransport { _ in .text(200, published.withLock { $0 }) }
        let identity = try identity(Self.remote, transport)
        await fetchOnce(identity)
        published.withLock { $0 = TestIssuer.keySet([old, new]) }
        let token = new.token("u_1", now: time.clock.now)
        #expect(await outcome(identity, token) == .failure(.token(.unknownKey)))
        time.pass(IssuerKeys.refetchInterval)
        #expect(try await outcome(identity, token).get().userID.text == "u_1")
        #expect(transport.requests.count == 2)
    }

    /// A client takes 401 for the end of its session.
    @Test @LoopActor func `a kid that could not be looked up is no reason for 401`() async throws {
        let (old, new) = (try TestIssuer(0), try TestIssuer(1))
        let published = Mutex<String?>(TestIssuer.keySet([old]))
        let transport = ScriptedTransport { _ in
            published.withLock { $0.map { .text(200, $0) } ?? .text(500, "") }
        }
        let identity = try identity(Self.remote, transport)
        await fetchOnce(identity)
        published.withLock { $0 = nil }
        time.pass(IssuerKeys.refetchInterval)
        let token = new.token("u_1", now: time.clock.now)
        #expect(await outcome(identity, token) == .failure(.keysUnavailable))
        #expect(await outcome(identity, token) == .failure(.keysUnavailable), "within the interval")
        #expect(try await outcome(identity, old.token("u_1", now: time.clock.now)).get().userID.text == "u_1")
        #expect(transport.requests.count == 2)
        published.withLock { $0 = TestIssuer.keySet([old]) }
        time.pass(IssuerKeys.refetchInterval)
        #expect(await outcome(identity, token) == .failure(.token(.unknownKey)))
    }

    @Test @LoopActor func `of two keys with one kid, the one that signed is found`() async throws {
        let (first, second) = (try TestIssuer(0, keyID: "same"), try TestIssuer(1, keyID: "same"))
        let transport = ScriptedTransport { _ in .text(200, TestIssuer.keySet([first, second])) }
        let identity = try identity(Self.remote, transport)
        await fetchOnce(identity)
        for issuer in [first, second] {
            #expect(try await outcome(identity, issuer.token("u_1", now: time.clock.now)).get().userID.text == "u_1")
        }
    }

    /// FAULTS.md row 20: no outgoing request for a token that cannot be believed.
    @Test @LoopActor func `no token makes us ask anybody but its own issuer, and seldom`() async throws {
        let issuer = try TestIssuer(0)
        let keys = TestIssuer.keySet([issuer])
        let transport = ScriptedTransport { _ in .text(200, keys) }
        let identity = try identity(Self.remote, transport)
        await fetchOnce(identity)
        time.pass(.seconds(3600))
        let now = time.clock.now
        let stranger = try TestIssuer(1, keyID: "key-0")
        let cases: [(String, TokenError)] = [
            (stranger.token("u_1", now: now), .badSignature),
            (issuer.token("u_1", now: now, ["iss": .string("https://evil.example")]), .unknownIssuer),
            (issuer.token("u_1", now: now, ["aud": .string("other")]), .wrongAudience),
            (issuer.token("u_1", now: now - 7200), .expired),
            (issuer.token("u_1", now: now, without: ["exp"]), .unlimited),
            (issuer.token("u_1", now: now, without: ["aud"]), .wrongAudience),
            (issuer.token(now: now, without: ["sub"]), .badSubject),
            (issuer.token("u_1", now: now, ["iat": .number(4_000_000_000)]), .issuedInTheFuture),
            (
                TokenSigner(
                    issuer: TestIssuer.name, audience: "app",
                    key: try #require(HMACKey(Array(keys.utf8)))
                ).token(subject: "u_1", now: now, lifetime: .seconds(60)), .algorithmRefused
            ),
        ]
        for (token, error) in cases { #expect(await outcome(identity, token) == .failure(.token(error))) }
        #expect(transport.requests.count == 1)
        for number in 0..<100 {
            let flood = try TestIssuer(1, keyID: "flood-\(number)")
            #expect(await outcome(identity, flood.token("u_1", now: now)) == .failure(.token(.unknownKey)))
        }
        #expect(transport.requests.map(\.url) == [TestIssuer.keysURL, TestIssuer.keysURL])
    }

    @Test @LoopActor func `a device is one of its user's, unless the issuer proves it`() throws {
        func subject(_ user: String, _ device: String?, _ issuer: String = "i", vouched: Bool = false) throws -> Subject
        {
            let user = try #require(UserID(user))
            return Subject(userID: user, deviceID: device, tier: nil, issuer: issuer, isDeviceVouchedFor: vouched)
        }
        let phone = try subject("u_1", "a")
        #expect(try phone.owner == subject("u_1", "b").owner && phone.device != subject("u_1", "b").device)
        #expect(try phone.owner != subject("u_2", "a").owner)
        #expect(try phone.owner != subject("u_1", "a", "j").owner)
        // Without lengths these two were one text.
        #expect(try subject("1u_1", "a", "i").owner != subject("u_1", "a", "i1").owner)
        #expect(phone.provenDevice == nil)
        let proven = try subject("u_1", "a", vouched: true).provenDevice
        #expect(try proven != nil && proven == subject("u_2", "a", vouched: true).provenDevice)
        #expect(try proven != subject("u_1", "a", "j", vouched: true).provenDevice)
        #expect(try subject("u_1", nil, vouched: true).provenDevice == nil)
    }

    @Test @LoopActor func `subjects are the same only where everything is that credentials depend on`() throws {
        func subject(
            _ user: String = "u_1", device: String? = "a", tier: String? = "free", issuer: String = "i",
            signIn: TimeInterval = 1, vouched: Bool = true
        ) throws -> Subject {
            Subject(
                userID: try #require(UserID(user)), deviceID: device, tier: tier, issuer: issuer,
                signIn: Date(timeIntervalSince1970: signIn), isDeviceVouchedFor: vouched)
        }
        let one = try subject()
        // The sign-in counts in seconds.
        #expect(try one == subject() && one == subject(signIn: 1.5))
        let others = try [
            subject("u_2"), subject(device: "b"), subject(device: nil), subject(tier: nil), subject(issuer: "j"),
            subject(signIn: 2), subject(vouched: false),
        ]
        for other in others { #expect(one != other, "\(other.userID) \(other.deviceID ?? "-")") }
    }

    @Test @LoopActor func `devices of two issuers are counted apart when they have one name`() throws {
        let user = try #require(UserID("u_1"))
        let parties = ["i", "j"].map { Subject(userID: user, deviceID: "d", tier: nil, issuer: $0).owner }
        #expect(parties[0] != parties[1])
        // Nor is a user of one issuer another's whose name ends where theirs begins.
        let other = Subject(userID: try #require(UserID("iu_1")), deviceID: nil, tier: nil, issuer: "i")
        #expect(other.owner != Subject(userID: user, deviceID: nil, tier: nil, issuer: "ii").owner)
    }
}
