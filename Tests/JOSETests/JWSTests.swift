import CloakroomCrypto
import Foundation
import CloakroomJOSE
import CloakroomJSON
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

    @Test func `agrees with the examples of the RFCs, and with none of them changed`() throws {
        let examples = try #require(JSON(parsing: vectors("rfc_examples")).array)
        #expect(examples.count == 9)
        for example in examples.compactMap(\.object) {
            let source = try #require(example["source"]?.string)
            let key = try VerificationKey(jwk: try #require(example["jwk"]), origin: .own)
            let text = try #require(example["jws"]?.string)
            let jws = try JWS(compact: Array(text.utf8))
            #expect(throws: Never.self, "\(source)") { try jws.verify(with: key, allowed: all) }
            #expect(String(decoding: jws.payload, as: UTF8.self) == example["payload"]?.string, "\(source)")
            let algorithm = try #require(SignatureAlgorithm(rawValue: jws.algorithm))
            #expect(throws: TokenError.algorithmRefused, "\(source)") {
                try jws.verify(with: key, allowed: all.subtracting([algorithm]))
            }
            let parts = text.split(separator: ".")
            for other in [parts[0] + ".e30." + parts[2], parts[0] + "." + parts[1] + "."] {
                #expect(throws: TokenError.badSignature, "\(source)") {
                    try JWS(compact: Array(other.utf8)).verify(with: key, allowed: all)
                }
            }
        }
    }

    private let all = Set(SignatureAlgorithm.allCases)

    private func vectors(_ name: String) throws -> [UInt8] {
        let url = try #require(Bundle.module.url(forResource: "Vectors/\(name)", withExtension: "json"))
        return Array(try Data(contentsOf: url))
    }

    @Test func `prints no key`() throws {
        let key = try #require(HMACKey([UInt8](repeating: 7, count: 32)))
        var dumped = ""
        dump(VerificationKey.hmac(key), to: &dumped)
        #expect("\(key) \(String(reflecting: key))" == "<secret> <secret>")
        #expect(dumped.contains("<secret>") && !dumped.contains("functions"))
    }
}
