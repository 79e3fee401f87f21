import CloakroomCrypto
import CloakroomSignatures
import CloakroomJOSE
import CloakroomJSON
import CloakroomTestSupport
import Testing

struct KeySetTests {
    private static let text = Base64URL.encode(Array("an arbitrary key of 32 bytes, ok".utf8))

    private func outcome(_ key: String, kid: String? = "a", allowed: Set<SignatureAlgorithm> = [.hs256]) throws
        -> TokenError?
    {
        let signer = try #require(HMACKey(Array("an arbitrary key of 32 bytes, ok".utf8)))
        let header = kid.map { #"{"alg":"HS256","kid":"\#($0)"}"# } ?? #"{"alg":"HS256"}"#
        let message = Base64URL.encode(header.utf8) + ".e30"
        let jws = try JWS(compact: Array((message + "." + Base64URL.encode(signer.sign(message.utf8))).utf8))
        let json = try JSON(parsing: Array(#"{"keys":[{"kty":"RSA"},\#(key)]}"#.utf8))
        let keys = try #require(KeySet(jwks: json, origin: .own))
        do throws(TokenError) {
            try keys.verify(jws, allowed: allowed)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        #"{"kty":"oct","k":"\#(text)","kid":"a"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","use":"sig","alg":"HS256","key_ops":["sign","verify"]}"#,
        #"{"kty":"oct","k":"\#(text)"}"#,
    ])
    func `verifies with the key the token names`(key: String) throws {
        #expect(try outcome(key) == nil)
        #expect(try outcome(key, kid: nil) == nil)
    }

    @Test(arguments: [
        #"{"kty":"oct","k":"\#(text)","kid":"b"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","use":"enc"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","alg":"HS512"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","alg":"A256GCM"}"#,
        #"{"kty":"oct","k":"\#(text)","kid":"a","key_ops":["sign"]}"#,
        #"{"kty":"RSA","n":"\#(text)","e":"AQAB","kid":"a"}"#,
        #"{"kty":"oct","k":"c2hvcnQ","kid":"a"}"#,
        #"{"kty":"oct","k":"\#(text)=","kid":"a"}"#,
    ])
    func `finds no key in one that is another, or for something else`(key: String) throws {
        #expect(try outcome(key) == .unknownKey)
    }

    @Test func `refuses an algorithm that is not allowed, and another key's signature`() throws {
        #expect(try outcome(#"{"kty":"oct","k":"\#(Self.text)","kid":"a"}"#, allowed: []) == .algorithmRefused)
        let other = Base64URL.encode([UInt8](repeating: 1, count: 32))
        #expect(try outcome(#"{"kty":"oct","k":"\#(other)","kid":"a"}"#) == .badSignature)
    }

    /// A token of one of the test keys.
    private func token(_ pem: String, _ algorithm: SignatureAlgorithm, kid: String? = nil) throws -> JWS {
        let key = try TokenSigningKey(PrivateKey(pem: Array(pem.utf8)), algorithm: algorithm, keyID: kid ?? "")
        let header =
            kid.map { #"{"alg":"\#(algorithm.rawValue)","kid":"\#($0)"}"# } ?? #"{"alg":"\#(algorithm.rawValue)"}"#
        let message = Base64URL.encode(header.utf8) + ".e30"
        return try JWS(compact: Array((message + "." + Base64URL.encode(key.sign(Array(message.utf8)))).utf8))
    }

    private func outcome(_ set: KeySet, _ jws: JWS, allowed: Set<SignatureAlgorithm>? = nil) -> TokenError? {
        do throws(TokenError) {
            try set.verify(jws, allowed: allowed ?? Set(SignatureAlgorithm.allCases))
            return nil
        } catch {
            return error
        }
    }

    private func json(_ text: String) throws -> JSON { try JSON(parsing: Array(text.utf8)) }

    private func jwk(_ pem: String, _ algorithm: SignatureAlgorithm, kid: String?) throws -> JSON {
        try PublicKey(pem: Array(pem.utf8)).jwk(keyID: kid, algorithm: algorithm)
    }

    private func set(_ keys: [JSON]) throws -> KeySet {
        try #require(KeySet(jwks: ["keys": .array(keys)], origin: .fetched))
    }

    private static let a = (TestKeys.p256, TestKeys.p256Public, SignatureAlgorithm.es256)
    private static let b = (TestKeys.rsa, TestKeys.rsaPublic, SignatureAlgorithm.rs256)

    @Test func `tells a key that is not there yet from a signature that is wrong`() throws {
        let keys = try set([jwk(Self.a.1, .es256, kid: "a"), jwk(Self.b.1, .rs256, kid: "b")])
        #expect(outcome(keys, try token(Self.a.0, .es256, kid: "a")) == nil)
        #expect(outcome(keys, try token(Self.b.0, .rs256, kid: "b")) == nil)
        #expect(outcome(keys, try token(Self.a.0, .es256, kid: "c")) == .unknownKey)
        #expect(outcome(keys, try token(Self.a.0, .es256, kid: "A")) == .unknownKey)
        // The right name for a key that this algorithm is not for.
        #expect(outcome(keys, try token(Self.a.0, .es256, kid: "b")) == .unknownKey)
        #expect(outcome(keys, try token(Self.b.0, .ps256, kid: "b")) == .unknownKey)
        let impostor = try set([jwk(Self.a.1, .es256, kid: "b"), jwk(TestKeys.ed25519Public, .edDSA, kid: "a")])
        #expect(outcome(impostor, try token(Self.a.0, .es256, kid: "a")) == .unknownKey)
        let other = try json(
            """
            {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","kid":"a"}
            """)
        #expect(outcome(try set([other]), try token(Self.a.0, .es256, kid: "a")) == .badSignature)
        #expect(outcome(try set([]), try token(Self.a.0, .es256, kid: "a")) == .unknownKey)
    }

    @Test func `takes a token without a name only when one key fits`() throws {
        let one = try set([jwk(Self.a.1, .es256, kid: "a"), jwk(Self.b.1, .rs256, kid: "b")])
        #expect(outcome(one, try token(Self.a.0, .es256)) == nil)
        #expect(outcome(one, try token(TestKeys.p384, .es384)) == .unknownKey)
        let two = try set([jwk(Self.a.1, .es256, kid: "a"), jwk(Self.a.1, .es256, kid: "b")])
        #expect(outcome(two, try token(Self.a.0, .es256)) == .ambiguousKey)
    }

    @Test func `tries several keys for a token without a name only if they are the operator's unnamed`() throws {
        let unnamed = try jwk(Self.a.1, .es256, kid: nil)
        let named = try jwk(Self.a.1, .es256, kid: "a")
        let token = try token(Self.a.0, .es256)
        #expect(outcome(try set([unnamed, unnamed]), token) == .ambiguousKey)
        func own(_ keys: [JSON]) throws -> KeySet {
            try #require(KeySet(jwks: ["keys": .array(keys)], origin: .own))
        }
        #expect(outcome(try own([unnamed, unnamed]), token) == nil)
        #expect(outcome(try own([named, unnamed]), token) == .ambiguousKey)
        #expect(outcome(try own([named, named]), token) == .ambiguousKey)
    }

    @Test func `tries each of several keys of one name, up to four`() throws {
        let others = try [
            #""x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0""#,
            #""x":"04N0xi21hshyvBp7I167sbE_bXqyqkAPfefdklMO7wY","y":"UI8exy-C06a7DUnjIdENkxeFtHM4-l_41LqEw9nVgmw""#,
        ].map { try json(#"{"kty":"EC","crv":"P-256","kid":"a",\#($0)}"#) }
        let right = try jwk(Self.a.1, .es256, kid: "a")
        let rsa = try jwk(Self.b.1, .rs256, kid: "a")
        let token = try token(Self.a.0, .es256, kid: "a")
        #expect(outcome(try set(others + [rsa, rsa, rsa, rsa, right]), token) == nil)
        #expect(outcome(try set(others + [others[0], right]), token) == nil)
        #expect(outcome(try set(others + others + [right]), token) == .badSignature)
    }

    @Test func `leaves out what is no key of ours, and says so`() throws {
        let secret = try json(#"{"kty":"oct","k":"\#(Self.text)","kid":"s"}"#)
        let keys = try set([
            secret, jwk(Self.a.1, .es256, kid: "a"), .null,
            json(#"{"kty":"RSA","n":"AQ","e":"AQAB","kid":"r"}"#),
        ])
        #expect(keys.keys.map(\.keyID) == ["a"])
        #expect(keys.refusals.map(\.place) == [0, 2, 3])
        #expect(keys.refusals.map(\.keyID) == ["s", nil, "r"])
        #expect(keys.refusals.map(\.fault) == [.secretInTheOpen, .badMember("kty"), .unfit(.tooSmall)])
        #expect(outcome(keys, try token(Self.a.0, .es256, kid: "a")) == nil)
    }

    @Test func `refuses a set that is none, too long, or mixed as nobody means it`() throws {
        let key = try jwk(Self.a.1, .es256, kid: "a")
        let secret = try json(#"{"kty":"oct","k":"\#(Self.text)","kid":"s"}"#)
        let many = JSON.array([JSON](repeating: key, count: KeySet.maximumCount))
        #expect(KeySet(jwks: ["keys": many], origin: .fetched)?.keys.count == 64)
        let wrong: [JSON] = [
            .null, .array([key]), [:], ["keys": key], ["keys": .array([JSON](repeating: key, count: 65))],
            ["keys": .array([key, secret])], ["keys": .array([secret, secret])],
        ]
        #expect(wrong.filter { KeySet(jwks: $0, origin: .own) != nil } == [])
        #expect(KeySet(jwks: key, origin: .own)?.keys.count == 1)
    }

    @Test func `gives an issuer's settings the last word about an RSA key without alg`() throws {
        let keys = KeySet(own: [try VerificationKey(pem: Array(Self.b.1.utf8))])
        for algorithm in [SignatureAlgorithm.rs256, .rs512, .ps256, .ps384] {
            let token = try token(Self.b.0, algorithm, kid: "2026-11/a")
            #expect(outcome(keys, token, allowed: [algorithm]) == nil)
            #expect(
                outcome(keys, token, allowed: Set(SignatureAlgorithm.allCases).subtracting([algorithm]))
                    == .algorithmRefused)
        }
    }

    @Test func `tries every unnamed key of the operator's own`() throws {
        let old = try #require(HMACKey(Array("an arbitrary key of 32 bytes, ok".utf8)))
        let new = try #require(HMACKey(Array("an arbitrary key of 32 bytes, too".utf8)))
        let keys = KeySet(own: [.hmac(new), .hmac(old), try VerificationKey(pem: Array(Self.a.1.utf8))])
        for key in [old, new] {
            let message = Base64URL.encode(#"{"alg":"HS256","kid":"x"}"#.utf8) + ".e30"
            let text = message + "." + Base64URL.encode(key.sign(message.utf8))
            #expect(outcome(keys, try JWS(compact: Array(text.utf8))) == nil)
        }
        #expect(outcome(keys, try token(Self.a.0, .es256)) == nil)
        #expect(outcome(keys, try token(TestKeys.ed25519, .edDSA)) == .unknownKey)
    }
}
