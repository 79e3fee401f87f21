import CloakroomCrypto
import Foundation
import CloakroomHTTP
import CloakroomJOSE
import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct AuthenticatorTests {
    private let key: HMACKey
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws { key = try #require(HMACKey(Array("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".utf8))) }

    @LoopActor private func authenticator(now: (@Sendable () -> Date)? = nil) -> Authenticator {
        let keys = KeySet(own: [.hmac(key)])
        let issuer = Issuer(
            name: "https://a.example", audiences: ["x"], algorithms: [.hs256], keys: .fixed(keys))
        let instant = self.now
        return Authenticator(
            header: "X-Token", leeway: .seconds(30),
            issuers: [IdentityProvider(issuer, keys: IssuerKeys(fixed: keys))], now: now ?? { instant })
    }

    private func token(_ subject: String = "u_1", tier: String? = nil) -> String {
        TokenSigner(issuer: "https://a.example", audience: "x", key: key)
            .token(subject: subject, deviceID: "phone", tier: tier, now: now, lifetime: .seconds(60))
    }

    private func request(_ fields: HeaderFields) -> Request { Request(method: "POST", target: "/", fields: fields) }

    @LoopActor private func outcome(
        _ fields: HeaderFields, acceptsBare: Bool = false, of authenticator: Authenticator? = nil
    ) -> Result<Subject, TokenError> {
        let authenticator = authenticator ?? self.authenticator()
        switch authenticator.identify(request(fields), acceptsBare: acceptsBare) {
        case .subject(let subject): return .success(subject)
        case .refused(.token(let error)): return .failure(error)
        case .refused(let refusal):
            Issue.record("\(refusal.reason)")
            return .failure(.missing)
        case .waiting:
            Issue.record("there is nothing to wait for")
            return .failure(.missing)
        }
    }

    private func subject(_ id: String, tier: String? = nil) throws -> Subject {
        Subject(
            userID: try #require(UserID(id)), deviceID: "phone", tier: tier, issuer: "https://a.example", signIn: now)
    }

    @Test @LoopActor func `finds the token in each of its places`() throws {
        let expected = Result<Subject, TokenError>.success(try subject("u_1"))
        #expect(outcome(["Authorization": "Bearer \(token())"]) == expected)
        #expect(outcome(["authorization": "bEARER  \(token())"]) == expected)
        #expect(outcome(["x-token": token()]) == expected)
        #expect(outcome(["Authorization": token()], acceptsBare: true) == expected)
        #expect(outcome(["Authorization": "Basic dTpw", "X-Token": token()]) == expected)
    }

    @Test @LoopActor func `takes a bare token only where it may be bare`() {
        #expect(outcome(["Authorization": token()]) == .failure(.missing))
        #expect(outcome(["Authorization": "Basic \(token())"], acceptsBare: true) == .failure(.missing))
        #expect(outcome([:]) == .failure(.missing))
        #expect(outcome(["Authorization": "Bearer"]) == .failure(.missing))
        #expect(outcome(["X-Token": ""]) == .failure(.missing))
        #expect(outcome(["X-Token": "Bearer \(token())"]) == .failure(.malformed))
    }

    @Test @LoopActor func `keeps to the token, whatever other headers say`() throws {
        let fields: HeaderFields = ["X-Token": token(tier: "pro"), "X-User-Id": "u_2", "X-Device-Id": "other"]
        #expect(outcome(fields) == .success(try subject("u_1", tier: "pro")))
    }

    /// By these a revocation decides; an issuer's own `auth_time` may be months old.
    @Test @LoopActor func `dates a token by iat, else by nbf, and no later than now`() throws {
        let cases: [(claims: String, signIn: Double?)] = [
            (#""iat":1799999000,"nbf":1799999500,"#, 1_799_999_000), (#""nbf":1799999500.9,"#, 1_799_999_500),
            (#""iat":1800000020,"#, 1_800_000_000), (#""auth_time":1790000000,"#, nil), ("", nil),
        ]
        for (claims, signIn) in cases {
            var undated: [String] = []
            let authenticator = authenticator()
            authenticator.onUndatedToken = { undated.append($0) }
            let payload = #"{\#(claims)"iss":"https://a.example","aud":"x","sub":"u_1","exp":1800000060}"#
            let token = TokenSigner(issuer: "https://a.example", audience: "x", key: key).sign(Array(payload.utf8))
            for _ in 0..<2 {
                let subject = try outcome(["X-Token": token], of: authenticator).get()
                #expect(subject.signIn == signIn.map { Date(timeIntervalSince1970: $0) }, "\(claims)")
            }
            #expect(undated == (signIn == nil ? ["https://a.example"] : []))
        }
    }

    // Arguments of a test on the loop would be evaluated there before the loop runs.
    @Test @LoopActor func `refuses a tier that cannot be a session tag`() {
        for tier in ["a<b", "pro plan", "é", "a\u{7f}"] {
            #expect(outcome(["X-Token": token(tier: tier)]) == .failure(.badClaims))
        }
    }

    @Test @LoopActor func `remembers a token until its end and not longer`() throws {
        let clock = TestClock()
        let authenticator = authenticator(now: { clock.now })
        let fields: HeaderFields = ["X-Token": token()]
        for seconds in [0, 60, 29.5] {
            clock.pass(seconds)
            #expect(outcome(fields, of: authenticator) == .success(try subject("u_1")))
        }
        clock.pass(0.5)
        #expect(outcome(fields, of: authenticator) == .failure(.expired))
    }

    @Test @LoopActor func `tells issuers apart whose names only look the same`() throws {
        let other = try #require(HMACKey(Array("Ae1sG6fHdKm3NbY8cWv5PtZ0rLq2xJ7u".utf8)))
        let issuers = [("https://caf\u{e9}.example", key), ("https://cafe\u{301}.example", other)].map { name, key in
            let keys = KeySet(own: [.hmac(key)])
            let issuer = Issuer(
                name: name, audiences: ["x"], algorithms: [.hs256], keys: .fixed(keys), subjects: .mapped)
            return IdentityProvider(issuer, keys: IssuerKeys(fixed: keys))
        }
        let instant = now
        let authenticator = Authenticator(
            header: "X-Token", leeway: .seconds(30), issuers: issuers, now: { instant })
        for (issuer, key) in zip(issuers, [key, other]) {
            let token = TokenSigner(issuer: issuer.issuer.name, audience: "x", key: key)
                .token(subject: "u_1", now: now, lifetime: .seconds(60))
            let subject = try outcome(["X-Token": token], of: authenticator).get()
            #expect(subject.userID == UserID(mapping: "u_1", of: issuer.issuer.name))
        }
    }

    @Test @LoopActor func `keeps no more tokens than it may`() throws {
        let tokens = VerifiedTokens(capacity: 10)
        let keys = IssuerKeys(fixed: KeySet(own: [.hmac(key)]))
        for number in 0..<1000 {
            let id = "u_\(number)"
            tokens.insert(try subject(id), for: SHA256.digest(Array(id.utf8)), until: now + 60, keys: keys)
            #expect(tokens.subject(of: SHA256.digest(Array(id.utf8)), now: now) == (try subject(id)))
            #expect(tokens.count <= 10)
        }
        #expect(tokens.subject(of: SHA256.digest(Array("u_1".utf8)), now: now) == nil)
        #expect(tokens.subject(of: SHA256.digest(Array("u_999".utf8)), now: now + 60) == nil)
    }
}
