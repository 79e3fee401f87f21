import CloakroomCrypto
import CloakroomSignatures
import Foundation
import CloakroomJOSE
import CloakroomJSON
import CloakroomTestSupport
import Testing

struct TokenSignerTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func privateKey(_ pem: String) throws -> PrivateKey { try PrivateKey(pem: Array(pem.utf8)) }

    /// What a fetched copy of the signer's own key set makes of its token.
    private func verified(_ token: String, _ keys: KeySet) throws -> VerifiedToken {
        let issuer = TrustedIssuer(
            issuer: "https://us.example", audiences: ["us"], algorithms: Set(SignatureAlgorithm.allCases), keys: keys)
        return try TokenVerifier(issuers: [issuer], leeway: .zero).verify(Array(token.utf8), now: Self.now)
    }

    @Test(arguments: [
        (TestKeys.p256, nil, "ES256"), (TestKeys.p384, nil, "ES384"), (TestKeys.p521, nil, "ES512"),
        (TestKeys.ed25519, nil, "EdDSA"), (TestKeys.rsa, nil, "RS256"),
        (TestKeys.rsa, SignatureAlgorithm.ps512, "PS512"),
    ])
    func `signs what its published key verifies`(pem: String, algorithm: SignatureAlgorithm?, name: String) throws {
        let key = try TokenSigningKey(privateKey(pem), algorithm: algorithm)
        let signer = TokenSigner(issuer: "https://us.example", audience: "us", key: key)
        let token = signer.token(subject: "u_1", deviceID: "d", now: Self.now, lifetime: .seconds(60))
        let jwk = try #require(key.jwk)
        #expect(jwk.object?["alg"]?.string == name)
        #expect(jwk.object?["use"]?.string == "sig")
        #expect(jwk.object?["d"] == nil)
        let keys = try #require(KeySet(jwks: ["keys": .array([jwk])], origin: .fetched))
        let verified = try verified(token, keys)
        #expect(verified.subject == "u_1")
        #expect(verified.deviceID == "d")
        let thumbprint = try privateKey(pem).publicKey.thumbprint
        #expect(try JWS(compact: Array(token.utf8)).keyID == thumbprint)
        #expect(jwk.object?["kid"]?.string == thumbprint)
        #expect(key.verificationKey.algorithms == [try #require(SignatureAlgorithm(rawValue: name))])
    }

    @Test(arguments: [SignatureAlgorithm.hs256, .hs384, .hs512])
    func `signs with a secret, which has nothing to publish`(algorithm: SignatureAlgorithm) throws {
        let secret = try #require(HMACKey([UInt8](repeating: 7, count: 64)))
        let key = try TokenSigningKey(secret, algorithm: algorithm, keyID: "k")
        let signer = TokenSigner(issuer: "https://us.example", audience: "us", key: key)
        let token = signer.token(subject: "u_1", now: Self.now, lifetime: .seconds(60))
        #expect(key.jwk == nil)
        #expect(try verified(token, KeySet(own: [key.verificationKey])).subject == "u_1")
        let header = Base64URL.decode(token.utf8.prefix { $0 != UInt8(ascii: ".") }) ?? []
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"\#(algorithm.rawValue)","kid":"k","typ":"JWT"}"#)
    }

    @Test func `signs with no key that does not fit`() throws {
        let secret = try #require(HMACKey([UInt8](repeating: 7, count: 32)))
        #expect(throws: KeyError.tooSmall) { try TokenSigningKey(secret, algorithm: .hs384) }
        #expect(throws: KeyError.unsupportedKind) { try TokenSigningKey(secret, algorithm: .es256) }
        for algorithm in SignatureAlgorithm.allCases where algorithm != .es256 {
            #expect(throws: KeyError.unsupportedKind) {
                try TokenSigningKey(privateKey(TestKeys.p256), algorithm: algorithm)
            }
        }
    }

    @Test func `prints no key`() throws {
        var dumped = ""
        let secret = try #require(HMACKey(Array("an arbitrary key of 32 bytes, ok".utf8)))
        dump(try TokenSigningKey(secret, algorithm: .hs256), to: &dumped)
        dump(try TokenSigningKey(privateKey(TestKeys.p256)), to: &dumped)
        #expect(dumped.contains("<secret>") && !dumped.contains("arbitrary") && !dumped.contains("OpaquePointer"))
    }
}
