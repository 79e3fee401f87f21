import CloakroomCrypto
import Foundation
import CloakroomJOSE
import Testing

struct TokenVerifierTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let bytes = Array("an arbitrary key of 32 bytes, ok".utf8)

    private let verifier: TokenVerifier
    private let key: HMACKey

    init() throws {
        key = try #require(HMACKey(Self.bytes))
        verifier = TokenVerifier(
            issuers: [
                TrustedIssuer(
                    issuer: "https://a.example", audiences: ["x", "y"], algorithms: [.hs256], key: .hmac(key))
            ], leeway: .seconds(30))
    }

    /// A token whose signature is right, whatever it says.
    private func token(
        header: String = #"{"alg":"HS256","typ":"JWT"}"#,
        claims: String = #"{"iss":"https://a.example","aud":"x","sub":"u_1","exp":1800000100}"#
    ) -> [UInt8] {
        let message = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
        return Array((message + "." + Base64URL.encode(key.sign(message.utf8))).utf8)
    }

    private func outcome(_ token: [UInt8]) -> Result<VerifiedToken, TokenError> {
        Result { () throws(TokenError) in try verifier.verify(token, now: Self.now) }
    }

    @Test func `tells what a token says`() throws {
        let claims = """
            {"iss":"https://a.example","aud":["z","y"],"sub":"u_1","exp":1800000100.5,"nbf":1800000030,"iat":1800000030,
            "deviceId":"phone","tier":"pro","other":{"a":[1]}}
            """
        let verified = try outcome(token(claims: claims)).get()
        #expect(verified.issuer == "https://a.example")
        #expect(verified.subject == "u_1")
        #expect(verified.deviceID == "phone")
        #expect(verified.tier == "pro")
        #expect(verified.expiration == Date(timeIntervalSince1970: 1_800_000_100.5))
    }

    @Test(arguments: [(nil, 29, true), (5, 4, true), (5, 6, false), (0, 0, false)] as [(Int?, Int, Bool)])
    func `forgives an issuer's clock as much as is settled for it`(
        leeway: Int?, after: Int, isGood: Bool
    ) throws {
        let issuer = TrustedIssuer(
            issuer: "https://a.example", audiences: ["x"], algorithms: [.hs256], keys: KeySet(own: [.hmac(key)]),
            leeway: leeway.map { .seconds($0) })
        let verifier = TokenVerifier(issuers: [issuer], leeway: .seconds(30))
        let now = Date(timeIntervalSince1970: Double(1_800_000_100 + after))
        let result = Result { () throws(TokenError) in try verifier.verify(token(), now: now) }
        #expect(((try? result.get()) != nil) == isGood)
    }

    @Test func `believes what the signer signs`() throws {
        let signer = TokenSigner(issuer: "https://a.example", audience: "y", key: key)
        let token = signer.token(subject: "quote\"d é", deviceID: "d", now: Self.now, lifetime: .seconds(60))
        let verified = try outcome(Array(token.utf8)).get()
        #expect(verified.subject == "quote\"d é")
        #expect(verified.tier == nil)
        #expect(verified.expiration == Self.now + 60)
    }

    @Test(arguments: [
        (#"{"alg":"none"}"#, TokenError.algorithmRefused),
        (#"{"alg":"None"}"#, .algorithmRefused),
        (#"{"alg":"hs256"}"#, .algorithmRefused),
        (#"{"alg":"HS384"}"#, .algorithmRefused),
        (#"{"alg":"RS256"}"#, .algorithmRefused),
        (#"{"alg":""}"#, .algorithmRefused),
        (#"{}"#, .badHeader),
        (#"{"alg":null}"#, .badHeader),
        (#"{"alg":["HS256"]}"#, .badHeader),
        (#"[]"#, .badHeader),
        (#""#, .badHeader),
        (#"{"alg":"HS256"} x"#, .badHeader),
        (#"{"alg":"none","alg":"HS256"}"#, .badHeader),
        (#"{"alg":"none","\u0061lg":"HS256"}"#, .badHeader),
        (#"{"alg":"HS256","a":[[[[[]]]]]}"#, .badHeader),
        (#"{"alg":"HS256","crit":["exp"]}"#, .criticalRefused),
        (#"{"alg":"HS256","crit":[]}"#, .criticalRefused),
        (#"{"alg":"HS256","b64":false,"crit":["b64"]}"#, .criticalRefused),
        (#"{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"}}"#, .embeddedKeyRefused),
        (#"{"alg":"HS256","jku":"https://evil.example/keys"}"#, .embeddedKeyRefused),
        (#"{"alg":"HS256","x5c":["MII="]}"#, .embeddedKeyRefused),
        (#"{"alg":"HS256","x5u":"https://evil.example/cert"}"#, .embeddedKeyRefused),
        (#"{"alg":"HS256","kid":7}"#, .badHeader),
        (#"{"alg":"HS256","kid":""}"#, .keyIDRefused),
        (#"{"alg":"HS256","kid":"' OR 1=1 --"}"#, .keyIDRefused),
        (#"{"alg":"HS256","kid":"a\u0000b"}"#, .keyIDRefused),
        (#"{"alg":"HS256","typ":"at+jwt"}"#, .typeRefused),
        (#"{"alg":"HS256","typ":"dpop+jwt"}"#, .typeRefused),
        (#"{"alg":"HS256","typ":1}"#, .badHeader),
    ])
    func `refuses a hostile header though its signature is right`(header: String, reason: TokenError) {
        #expect(outcome(token(header: header)) == .failure(reason))
    }

    @Test(arguments: [
        #"{"alg":"HS256"}"#, #"{"typ":"jwt","alg":"HS256","kid":"2026-01/a"}"#, #"{"alg":"HS256","x5t":"a"}"#,
    ])
    func `takes a harmless header`(header: String) throws {
        #expect(try outcome(token(header: header)).get().subject == "u_1")
    }

    @Test(arguments: [
        (#"{"aud":"x","sub":"u","exp":1800000100}"#, TokenError.unknownIssuer),
        (#"{"iss":"https://b.example","aud":"x","sub":"u","exp":1800000100}"#, .unknownIssuer),
        (#"{"iss":"https://a.example/","aud":"x","sub":"u","exp":1800000100}"#, .unknownIssuer),
        (#"{"iss":["https://a.example"],"aud":"x","sub":"u","exp":1800000100}"#, .unknownIssuer),
        (#"{"iss":"https://a.example","sub":"u","exp":1800000100}"#, .wrongAudience),
        (#"{"iss":"https://a.example","aud":"z","sub":"u","exp":1800000100}"#, .wrongAudience),
        (#"{"iss":"https://a.example","aud":[],"sub":"u","exp":1800000100}"#, .wrongAudience),
        (#"{"iss":"https://a.example","aud":["x",1],"sub":"u","exp":1800000100}"#, .badClaims),
        (#"{"iss":"https://a.example","aud":"x","exp":1800000100}"#, .badSubject),
        (#"{"iss":"https://a.example","aud":"x","sub":"","exp":1800000100}"#, .badSubject),
        (#"{"iss":"https://a.example","aud":"x","sub":1,"exp":1800000100}"#, .badSubject),
        (#"{"iss":"https://a.example","aud":"x","sub":"a\nb","exp":1800000100}"#, .badSubject),
        (#"{"iss":"https://a.example","aud":"x","sub":"u"}"#, .unlimited),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":null}"#, .badClaims),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":"1800000100"}"#, .badClaims),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":-1}"#, .badClaims),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1e300}"#, .badClaims),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1800000100000}"#, .badClaims),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1799999970}"#, .expired),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1800000100,"nbf":1800000031}"#, .notYetValid),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1800000100,"iat":1800000031}"#, .issuedInTheFuture),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1800000100,"nbf":true}"#, .badClaims),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","exp":1800000100,"tier":7}"#, .badClaims),
        (#"{"iss":"https://a.example","aud":"x","sub":"u","sub":"v","exp":1800000100}"#, .badClaims),
        (#"["iss"]"#, .badClaims),
        ("", .badClaims),
    ])
    func `refuses claims that are missing, wrong or out of time`(claims: String, reason: TokenError) {
        #expect(outcome(token(claims: claims)) == .failure(reason))
    }

    @Test func `forgives a clock that is half a minute off, and no more`() throws {
        let claims =
            #"{"iss":"https://a.example","aud":"x","sub":"u","exp":1799999971,"nbf":1800000030,"iat":1800000030}"#
        #expect(try outcome(token(claims: claims)).get().subject == "u")
    }

    @Test func `refuses what is not three parts of strict base64url`() {
        let good = String(decoding: token(), as: UTF8.self)
        let parts = good.split(separator: ".").map(String.init)
        let bad = [
            "", ".", "..", "...", good + ".", "." + good, good + "=", good + "\n", " " + good, good + "é",
            parts[0] + "." + parts[1], parts.joined(separator: ". "), parts[0] + "+." + parts[1] + "." + parts[2],
        ]
        #expect(bad.filter { outcome(Array($0.utf8)) != .failure(.malformed) && !$0.hasPrefix("..") } == [])
        #expect(outcome(Array("..".utf8)) == .failure(.badHeader))
    }

    @Test func `refuses another key's signature, none, and a part of one`() throws {
        let good = token()
        let other = TokenSigner(
            issuer: "https://a.example", audience: "x", key: try #require(HMACKey(Self.bytes.reversed())))
        let parts = String(decoding: good, as: UTF8.self).split(separator: ".")
        let bad = [
            other.token(subject: "u_1", now: Self.now, lifetime: .seconds(60)),
            parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1] + "." + parts[2].dropLast(3),
        ]
        for token in bad { #expect(outcome(Array(token.utf8)) == .failure(.badSignature)) }
    }

    @Test func `refuses a giant unread, and a deep one`() {
        #expect(outcome([UInt8](repeating: 0x41, count: 8193)) == .failure(.tooLarge))
        let deep = String(repeating: "[", count: 2000)
        #expect(outcome(token(claims: "{\"a\":\(deep)")) == .failure(.badClaims))
    }

    @Test func `never takes a changed token`() {
        let good = token()
        var taken = 0
        for index in good.indices {
            for bit in [UInt8(1), 2, 4, 16, 32] {
                var changed = good
                changed[index] ^= bit
                if case .success = outcome(changed) { taken += 1 }
            }
        }
        #expect(taken == 0)
    }
}
