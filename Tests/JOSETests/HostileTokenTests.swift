import CloakroomCrypto
import CloakroomSignatures
import Foundation
import CloakroomJOSE
import CloakroomJSON
import CloakroomTestSupport
import Testing

/// What a forger tries against issuers whose keys are public: row 20 of the faults, for each family of keys.
struct HostileTokenTests {
    struct Issuer: Sendable, CustomTestStringConvertible {
        let algorithm: SignatureAlgorithm
        let pem: String
        let publicPEM: String

        var testDescription: String { algorithm.rawValue }

        static let all = [
            Issuer(algorithm: .rs256, pem: TestKeys.rsa, publicPEM: TestKeys.rsaPublic),
            Issuer(algorithm: .ps384, pem: TestKeys.rsa, publicPEM: TestKeys.rsaPublic),
            Issuer(algorithm: .es256, pem: TestKeys.p256, publicPEM: TestKeys.p256Public),
            Issuer(algorithm: .es512, pem: TestKeys.p521, publicPEM: TestKeys.p521Public),
            Issuer(algorithm: .edDSA, pem: TestKeys.ed25519, publicPEM: TestKeys.ed25519Public),
        ]

        var key: PublicKey { get throws { try PublicKey(pem: Array(publicPEM.utf8)) } }
    }

    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let claims = #"{"iss":"https://a.example","aud":"x","sub":"u_1","exp":1800000100}"#

    private func verifier(
        _ issuer: Issuer, algorithms: Set<SignatureAlgorithm>? = nil, keys: KeySet? = nil
    ) throws -> TokenVerifier {
        let fetched = KeySet(
            jwks: ["keys": .array([try issuer.key.jwk(keyID: "k", algorithm: issuer.algorithm)])], origin: .fetched)
        return TokenVerifier(
            issuers: [
                TrustedIssuer(
                    issuer: "https://a.example", audiences: ["x"], algorithms: algorithms ?? [issuer.algorithm],
                    keys: try #require(keys ?? fetched))
            ], leeway: .seconds(30))
    }

    /// Signed with the issuer's own key, whatever it says.
    private func token(_ issuer: Issuer, header: String = "", claims: String = claims) throws -> String {
        let key = try TokenSigningKey(PrivateKey(pem: Array(issuer.pem.utf8)), algorithm: issuer.algorithm)
        let header = #"{"alg":"\#(issuer.algorithm.rawValue)"\#(header)}"#
        let message = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
        return message + "." + Base64URL.encode(key.sign(Array(message.utf8)))
    }

    private func outcome(_ token: String, _ verifier: TokenVerifier) -> TokenError? {
        do throws(TokenError) {
            _ = try verifier.verify(Array(token.utf8), now: Self.now)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: Issuer.all)
    func `takes the issuer's own token`(issuer: Issuer) throws {
        let verifier = try verifier(issuer)
        for header in ["", #","typ":"JWT","kid":"k""#, #","kid":"k","x5t":"AA","cty":"x""#] {
            #expect(outcome(try token(issuer, header: header), verifier) == nil)
        }
    }

    private static let headers: [(String, TokenError)] = [
        (#","crit":["exp"]"#, .criticalRefused),
        (#","b64":false,"crit":["b64"]"#, .criticalRefused),
        (#","jwk":{"kty":"EC"}"#, .embeddedKeyRefused),
        (#","jku":"https://evil.example/keys""#, .embeddedKeyRefused),
        (#","x5c":["MII="]"#, .embeddedKeyRefused),
        (#","x5u":"https://evil.example/cert""#, .embeddedKeyRefused),
        (#","kid":7"#, .badHeader),
        (#","kid":"""#, .keyIDRefused),
        (#","kid":"../../../dev/null\u0000""#, .keyIDRefused),
        (#","kid":"' UNION SELECT 'x"#, .badHeader),
        (#","kid":"' UNION SELECT 'x""#, .keyIDRefused),
        (#","kid":"|/bin/true""#, .keyIDRefused),
        (#","kid":"../../../dev/null""#, .unknownKey),
        (#","kid":"https://evil.example/keys""#, .unknownKey),
        (#","kid":"\#(String(repeating: "k", count: 129))""#, .keyIDRefused),
        (#","typ":"at+jwt""#, .typeRefused),
        (#","typ":"secevent+jwt""#, .typeRefused),
        (#","alg":"none""#, .badHeader),
        (#","a":[[[[[]]]]]"#, .badHeader),
    ]

    @Test(arguments: Issuer.all)
    func `refuses a hostile header though its signature is right`(issuer: Issuer) throws {
        let verifier = try verifier(issuer)
        for (header, reason) in Self.headers {
            #expect(outcome(try token(issuer, header: header), verifier) == reason, "\(header)")
        }
    }

    private static let wrongClaims: [(String, TokenError)] = [
        (#"{"aud":"x","sub":"u","exp":1800000100}"#, .unknownIssuer),
        (#"{"iss":"https://b.example","aud":"x","sub":"u","exp":1800000100}"#, .unknownIssuer),
        (#"{"iss":"https://a.example","sub":"u","exp":1800000100}"#, .wrongAudience),
        (#"{"iss":"https://a.example","aud":["X","z"],"sub":"u","exp":1800000100}"#, .wrongAudience),
        (#"{"iss":"https://a.example","aud":"x","exp":1800000100}"#, .badSubject),
        (#"{"iss":"https://a.example","aud":"x","sub":"u"}"#, .unlimited),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1799999970}"#, .expired),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":"1800000100"}"#, .badClaims),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1800000100,"nbf":1800000031}"#, .notYetValid),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1800000100,"iat":1800000031}"#, .issuedInTheFuture),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1800000100,"iat":null}"#, .badClaims),
        (#"{"a":\#(String(repeating: "[", count: 2000))"#, .badClaims),
    ]

    @Test(arguments: Issuer.all)
    func `refuses claims that are missing, wrong or out of time`(issuer: Issuer) throws {
        let verifier = try verifier(issuer)
        for (claims, reason) in Self.wrongClaims {
            #expect(outcome(try token(issuer, claims: claims), verifier) == reason, "\(claims)")
        }
    }

    /// The public key is known to everyone: as a secret for HMAC it must open nothing, however it is written.
    @Test(arguments: Issuer.all)
    func `takes no code made with the public key as secret`(issuer: Issuer) throws {
        let key = try issuer.key
        let lines = issuer.publicPEM.split(separator: "\n").dropFirst().dropLast().joined()
        var writer = JSONWriter()
        writer.value(key.jwk(keyID: "k", algorithm: issuer.algorithm))
        let numbers: [UInt8] =
            switch key.material {
            case .rsa(let modulus, _): modulus
            case .ellipticCurve(_, let x, let y): [4] + x + y
            case .ed25519(let point): point
            }
        let secrets = [
            Array(issuer.publicPEM.utf8), Array((issuer.publicPEM + "\n").utf8), Array(lines.utf8), writer.bytes,
            numbers,
        ]
        let lenient = try verifier(issuer, algorithms: Set(SignatureAlgorithm.allCases))
        let strict = try verifier(issuer)
        for secret in secrets {
            for algorithm in [SignatureAlgorithm.hs256, .hs384, .hs512] {
                guard let secret = HMACKey(secret), let key = try? TokenSigningKey(secret, algorithm: algorithm) else {
                    continue
                }
                let header = #"{"alg":"\#(algorithm.rawValue)","kid":"k"}"#
                let message = Base64URL.encode(header.utf8) + "." + Base64URL.encode(Self.claims.utf8)
                let token = message + "." + Base64URL.encode(key.sign(Array(message.utf8)))
                #expect(outcome(token, strict) == .algorithmRefused)
                #expect(outcome(token, lenient) == .unknownKey)
            }
        }
    }

    @Test(arguments: Issuer.all)
    func `refuses another algorithm's name over the issuer's signature`(issuer: Issuer) throws {
        let parts = try token(issuer).split(separator: ".")
        let lenient = try verifier(issuer, algorithms: Set(SignatureAlgorithm.allCases))
        for name in ["none", "None", "", "RS1", "ES256K", "Ed25519"] + SignatureAlgorithm.allCases.map(\.rawValue)
        where name != issuer.algorithm.rawValue {
            let header = Base64URL.encode(#"{"alg":"\#(name)"}"#.utf8)
            for signature in [parts[2], ""] {
                let reason = outcome("\(header).\(parts[1]).\(signature)", lenient)
                #expect(
                    reason == (SignatureAlgorithm(rawValue: name) == nil ? .algorithmRefused : .unknownKey), "\(name)")
            }
        }
    }

    @Test func `takes no token of another issuer's key`() throws {
        for issuer in Issuer.all {
            for other in Issuer.all where other.algorithm != issuer.algorithm {
                let verifier = try verifier(issuer, algorithms: Set(SignatureAlgorithm.allCases))
                #expect(outcome(try token(other), verifier) == .unknownKey)
            }
        }
        // The same kind, the same name, another key.
        let point =
            #"{"kty":"EC","crv":"P-256","kid":"k","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
            + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#
        let keys = KeySet(jwks: try JSON(parsing: Array(point.utf8)), origin: .fetched)
        #expect(outcome(try token(Issuer.all[2]), try verifier(Issuer.all[2], keys: keys)) == .badSignature)
    }

    @Test(arguments: Issuer.all)
    func `never takes a changed token`(issuer: Issuer) throws {
        let verifier = try verifier(issuer)
        let good = Array(try token(issuer).utf8)
        var generator = SeededGenerator(seed: 20)
        let changed = (0..<400).map { _ in good.mutated(using: &generator) }.filter { $0 != good }
        #expect(changed.count > 300)
        #expect(changed.filter { (try? verifier.verify($0, now: Self.now)) != nil } == [])
        let parts = String(decoding: good, as: UTF8.self).split(separator: ".").map(String.init)
        for part in parts.indices {
            for foreign in ["=", "+", "/", " ", "\n", "?", "%3D", "\u{0}", "é"] {
                var spoiled = parts
                spoiled[part] += foreign
                #expect(outcome(spoiled.joined(separator: "."), verifier) == .malformed)
            }
        }
    }

    @Test func `takes no key too weak from an issuer, so no token of it`() throws {
        // RFC 8017 has no minimum; RFC 7518 §3.3 has: 2048 bits.
        let weak = """
            {"kty":"RSA","kid":"k","e":"AQAB","n":"vCan4voOP-vLqZwLmhfUVgW8RnaKzjFO7ugWOVgxybTWlyKFyHn_tJTg237Rl-rKpy2um8fXP\
            oR1G5Ie8s2fFleZ9m0av5uK-hFEmuqPFQbhee0mZlhDZJBSC0XYHNHhXfDgoBS5jZOckLAncSot9MIdjjFvEwa-kQOgYAqOuUc"}
            """
        let keys = try #require(KeySet(jwks: JSON(parsing: Array(weak.utf8)), origin: .fetched))
        #expect(keys.refusals.map(\.fault) == [.unfit(.tooSmall)])
        #expect(outcome(try token(Issuer.all[0]), try verifier(Issuer.all[0], keys: keys)) == .unknownKey)
    }

    @Test func `exchanges an issuer's keys, and reads a token before it has them`() throws {
        let (rsa, ec) = (Issuer.all[0], Issuer.all[2])
        var verifier = try verifier(rsa, algorithms: [.rs256, .es256])
        let text = try token(ec, header: #","kid":"k2""#)
        let claimed = try verifier.read(Array(text.utf8))
        #expect(claimed.issuer == "https://a.example")
        #expect(claimed.keyID == "k2")
        #expect(throws: TokenError.unknownKey) { try verifier.verify(claimed, now: Self.now) }
        let newer = try #require(
            KeySet(jwks: ["keys": .array([ec.key.jwk(keyID: "k2", algorithm: .es256)])], origin: .fetched))
        verifier.setKeys(newer, ofIssuer: "https://b.example")
        #expect(throws: TokenError.unknownKey) { try verifier.verify(claimed, now: Self.now) }
        verifier.setKeys(newer, ofIssuer: "https://a.example")
        #expect(try verifier.verify(claimed, now: Self.now).claims["exp"]?.integer == 1_800_000_100)
        #expect(outcome(try token(rsa, header: #","kid":"k""#), verifier) == .unknownKey)
    }

    @Test(arguments: [
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1800000100}"#, TokenError.unknownKey),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1799999970}"#, .expired),
        (#"{"iss":"https://a.example","aud":"x","sub":"u"}"#, .unlimited),
        (#"{"iss":"https://a.example","aud":"y","sub":"u","exp":1800000100}"#, .wrongAudience),
    ])
    func `asks for newer keys only where they would help`(claims: String, reason: TokenError) throws {
        let text = try token(Issuer.all[0], header: #","kid":"new""#, claims: claims)
        #expect(outcome(text, try verifier(Issuer.all[0])) == reason)
    }

    @Test func `believes what is signed like a token without asking for times, but for signature and audience`() throws
    {
        let issuer = Issuer.all[0]
        let verifier = try verifier(issuer)
        let events = #"{"iss":"https://a.example","aud":"x","iat":1,"events":"{}"}"#
        let claimed = try verifier.read(Array(token(issuer, claims: events).utf8))
        #expect(try verifier.verifySignature(claimed)["events"]?.string == "{}")
        #expect(throws: TokenError.unlimited) { try verifier.verify(claimed, now: Self.now) }
        let elsewhere = try verifier.read(Array(token(issuer, claims: events.replacing("\"x\"", with: "\"y\"")).utf8))
        #expect(throws: TokenError.wrongAudience) { try verifier.verifySignature(elsewhere) }
        let parts = try token(issuer, claims: events).split(separator: ".")
        let forged = try verifier.read(Array("\(parts[0]).\(parts[1]).AAAA".utf8))
        #expect(throws: TokenError.badSignature) { try verifier.verifySignature(forged) }
    }
}
