import CloakroomCrypto
import Foundation
import JOSE
import Testing

struct JWSTests {
    private struct Wycheproof: Decodable {
        struct Test: Decodable {
            let tcId: Int
            let jws: String
            let result: String
        }

        let key: String
        let tests: [Test]
    }

    @Test func `agrees with Wycheproof about HS256`() throws {
        let name = "Vectors/wycheproof_json_web_signature_hs256"
        let url = try #require(Bundle.module.url(forResource: name, withExtension: "json"))
        let suite = try JSONDecoder().decode(Wycheproof.self, from: Data(contentsOf: url))
        let key = VerificationKey.hmac(try #require(Base64URL.decode(suite.key.utf8).flatMap(HMACKey.init)))
        let valid = suite.tests.filter { test in
            (try? JWS(compact: Array(test.jws.utf8)).verify(with: key, allowed: [.hs256])) != nil
        }
        #expect(suite.tests.count == 18)
        #expect(valid.map(\.tcId) == suite.tests.filter { $0.result == "valid" }.map(\.tcId))
    }

    @Test func `verifies the example of RFC 7515 A.1`() throws {
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
        let token =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
            + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let jws = try JWS(compact: Array(token.utf8))
        try jws.verify(
            with: .hmac(try #require(Base64URL.decode(key.utf8).flatMap(HMACKey.init))), allowed: [.hs256])
        #expect(
            String(decoding: jws.payload, as: UTF8.self)
                == "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}")
    }

    @Test func `prints no key`() throws {
        let key = try #require(HMACKey([UInt8](repeating: 7, count: 32)))
        var dumped = ""
        dump(VerificationKey.hmac(key), to: &dumped)
        #expect("\(key) \(String(reflecting: key))" == "<secret> <secret>")
        #expect(dumped.contains("<secret>") && !dumped.contains("HMACSHA256"))
    }
}
