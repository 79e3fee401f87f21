import CloakroomCrypto
import CloakroomSignatures
import CloakroomJOSE
import CloakroomJSON
import CloakroomTestSupport
import Testing

struct JSONWebKeyTests {
    private func fault(_ text: String, origin: KeyOrigin = .own) throws -> JSONWebKeyError? {
        let json = try JSON(parsing: Array(text.utf8))
        do throws(JSONWebKeyError) {
            _ = try VerificationKey(jwk: json, origin: origin)
            return nil
        } catch {
            return error
        }
    }

    // RFC 7515 A.2, A.3 and RFC 8037 A.2.
    private static let n =
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS"
        + "-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2"
        + "R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAc"
        + "DTW9gb54h4FRWyuXpoQ"
    private static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    private static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    private static let point = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    private static let secret = "hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg"

    private static let rsa = #""kty":"RSA","n":"\#(n)","e":"AQAB""#
    private static let ec = #""kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)""#
    private static let ed = #""kty":"OKP","crv":"Ed25519","x":"\#(point)""#
    private static let oct = #""kty":"oct","k":"\#(secret)""#

    @Test(arguments: [
        (rsa, ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]),
        (rsa + #","alg":"PS384""#, ["PS384"]),
        (rsa + #","use":"sig","key_ops":["verify"],"kid":"a","x5c":["MII="],"x5u":"https://evil.example""#, nil),
        (ec, ["ES256"]),
        (ec + #","alg":"ES256","key_ops":["sign","verify"]"#, ["ES256"]),
        (ed, ["EdDSA"]),
        (ed + #","alg":"EdDSA""#, ["EdDSA"]),
        (oct, ["HS256"]),
        (#""kty":"oct","k":"\#(secret)\#(secret)\#(secret)AA""#, ["HS256", "HS384", "HS512"]),
    ])
    func `binds a key to what it may serve`(members: String, algorithms: [String]?) throws {
        let key = try VerificationKey(jwk: JSON(parsing: Array("{\(members)}".utf8)), origin: .own)
        let expected = algorithms ?? ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
        #expect(key.algorithms == Set(expected.compactMap(SignatureAlgorithm.init)))
        #expect(key.algorithms.count == expected.count)
    }

    @Test(arguments: [
        ("{}", JSONWebKeyError.badMember("kty")),
        ("[]", .badMember("kty")),
        (#"{"kty":1}"#, .badMember("kty")),
        (#"{"kty":"rsa","n":"\#(n)","e":"AQAB"}"#, .unsupportedKind),
        (#"{"kty":"none"}"#, .unsupportedKind),
        ("{\(rsa),\"kid\":7}", .badMember("kid")),
        ("{\(rsa),\"use\":\"enc\"}", .otherUse),
        ("{\(rsa),\"use\":\"\"}", .otherUse),
        ("{\(rsa),\"use\":null}", .badMember("use")),
        ("{\(rsa),\"key_ops\":[]}", .otherUse),
        ("{\(rsa),\"key_ops\":[\"encrypt\",\"wrapKey\"]}", .otherUse),
        ("{\(rsa),\"key_ops\":[\"verify\",\"verify\"]}", .badMember("key_ops")),
        ("{\(rsa),\"key_ops\":\"verify\"}", .badMember("key_ops")),
        ("{\(rsa),\"alg\":\"RSA-OAEP\"}", .otherAlgorithm),
        ("{\(rsa),\"alg\":\"none\"}", .otherAlgorithm),
        ("{\(rsa),\"alg\":\"HS256\"}", .otherAlgorithm),
        ("{\(rsa),\"alg\":\"ES256\"}", .otherAlgorithm),
        ("{\(rsa),\"alg\":[\"RS256\"]}", .badMember("alg")),
        ("{\(ec),\"alg\":\"ES384\"}", .otherAlgorithm),
        ("{\(ec),\"alg\":\"ES521\"}", .otherAlgorithm),
        ("{\(ec),\"alg\":\"ECDH-ES\"}", .otherAlgorithm),
        ("{\(ed),\"alg\":\"ES256\"}", .otherAlgorithm),
        ("{\(oct),\"alg\":\"RS256\"}", .otherAlgorithm),
        ("{\(oct),\"alg\":\"HS384\"}", .unfit(.tooSmall)),
        // RSA: e of 1, 2, 65536, none; a number with leading zeros, padded, missing; n even or small.
        (#"{"kty":"RSA","n":"\#(n)","e":"AQ"}"#, .unfit(.badExponent)),
        (#"{"kty":"RSA","n":"\#(n)","e":"Ag"}"#, .unfit(.badExponent)),
        (#"{"kty":"RSA","n":"\#(n)","e":"AQAA"}"#, .unfit(.badExponent)),
        (#"{"kty":"RSA","n":"\#(n)","e":""}"#, .unfit(.badExponent)),
        (#"{"kty":"RSA","n":"\#(n)","e":"AAEAAQ"}"#, .unfit(.leadingZeros)),
        (#"{"kty":"RSA","n":"AAAA\#(n)","e":"AQAB"}"#, .unfit(.leadingZeros)),
        (#"{"kty":"RSA","n":"\#(n.dropLast(2))og","e":"AQAB"}"#, .unfit(.badModulus)),
        (#"{"kty":"RSA","n":"\#(n.prefix(168))","e":"AQAB"}"#, .unfit(.tooSmall)),
        (#"{"kty":"RSA","n":"\#(n)==","e":"AQAB"}"#, .badMember("n")),
        (#"{"kty":"RSA","n":"","e":"AQAB"}"#, .unfit(.badModulus)),
        (#"{"kty":"RSA","e":"AQAB"}"#, .badMember("n")),
        (#"{"kty":"RSA","n":"\#(n)","e":65537}"#, .badMember("e")),
        // EC: beside the curve, on another curve, without y, compressed.
        (#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(x)"}"#, .unfit(.notOnCurve)),
        (#"{"kty":"EC","crv":"P-384","x":"\#(x)","y":"\#(y)"}"#, .unfit(.wrongLength)),
        (#"{"kty":"EC","crv":"secp256k1","x":"\#(x)","y":"\#(y)"}"#, .unsupportedKind),
        (#"{"kty":"EC","crv":"Ed25519","x":"\#(point)"}"#, .unsupportedKind),
        (#"{"kty":"EC","x":"\#(x)","y":"\#(y)"}"#, .badMember("crv")),
        (#"{"kty":"EC","crv":"P-256","x":"\#(x)"}"#, .badMember("y")),
        (#"{"kty":"EC","crv":"P-256","x":"AA\#(x)A","y":"\#(y)"}"#, .unfit(.wrongLength)),
        // OKP: other curves, a point that is none, one of small order.
        (#"{"kty":"OKP","crv":"Ed448","x":"\#(point)"}"#, .unsupportedKind),
        (#"{"kty":"OKP","crv":"X25519","x":"\#(point)"}"#, .unsupportedKind),
        (#"{"kty":"OKP","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#, .unsupportedKind),
        (#"{"kty":"OKP","crv":"Ed25519","x":"AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#, .unfit(.notOnCurve)),
        (#"{"kty":"OKP","crv":"Ed25519","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#, .unfit(.smallOrder)),
        (#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#, .unfit(.wrongLength)),
        // Members of one kind under the name of another.
        (#"{"kty":"oct","n":"\#(n)","e":"AQAB"}"#, .badMember("k")),
        (#"{"kty":"RSA","k":"\#(secret)"}"#, .badMember("n")),
        (#"{"kty":"EC","n":"\#(n)","e":"AQAB"}"#, .badMember("crv")),
        (#"{"kty":"oct","k":"c2hvcnQ"}"#, .unfit(.tooSmall)),
        (#"{"kty":"oct","k":""}"#, .unfit(.tooSmall)),
        (#"{"kty":"oct","k":"\#(secret)="}"#, .badMember("k")),
    ])
    func `says why it leaves a key out`(text: String, reason: JSONWebKeyError) throws {
        #expect(try fault(text) == reason)
    }

    @Test func `takes no secret from where others read`() throws {
        #expect(try fault("{\(Self.oct)}", origin: .fetched) == .secretInTheOpen)
        #expect(try fault("{\(Self.ec),\"d\":\"AAAA\"}", origin: .fetched) == .secretInTheOpen)
        #expect(try fault("{\(Self.rsa),\"d\":\"AAAA\"}", origin: .fetched) == .secretInTheOpen)
        #expect(try fault("{\(Self.ec),\"d\":\"AAAA\"}", origin: .own) == nil)
        #expect(try fault("{\(Self.ec)}", origin: .fetched) == nil)
    }

    @Test(arguments: [
        // RFC 7638 §3.1, RFC 8037 A.3.
        (
            #"""
            {"kty":"RSA","alg":"RS256","kid":"2011-04-29","e":"AQAB","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78L\#
            hWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0\#
            h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQF\#
            h6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"}
            """#,
            "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
        ),
        ("{\(ed),\"use\":\"sig\"}", "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
    ])
    func `makes the thumbprints of the RFCs`(text: String, thumbprint: String) throws {
        let key = try VerificationKey(jwk: JSON(parsing: Array(text.utf8)), origin: .fetched)
        #expect(key.publicKey?.thumbprint == thumbprint)
    }

    @Test(arguments: [
        (TestKeys.rsaPublic, SignatureAlgorithm.rs512), (TestKeys.p256Public, .es256), (TestKeys.p384Public, .es384),
        (TestKeys.p521Public, .es512), (TestKeys.ed25519Public, .edDSA),
    ])
    func `publishes a key as it would read it`(pem: String, algorithm: SignatureAlgorithm) throws {
        let key = try PublicKey(pem: Array(pem.utf8))
        let read = try VerificationKey(jwk: key.jwk(keyID: "a", algorithm: algorithm), origin: .fetched)
        #expect(read.publicKey == key)
        #expect(read.keyID == "a")
        #expect(read.algorithms == [algorithm])
        #expect(read.secret == nil)
    }
}
