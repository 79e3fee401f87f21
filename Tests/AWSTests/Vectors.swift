import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

/// A file of requests and what their signatures must be.
struct SigV4Vectors: Decodable {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let method: String
        let target: String
        let headers: [[String]]
        let body_b64: String
        let region: String
        let service: String
        let timestamp: String
        let access_key: String
        let secret_key: String
        let session_token: String?
        let mode: String
        let expires: Int?
        let normalize: Bool
        let double_encode: Bool
        let sign_body: Bool
        let omit_session_token: Bool
        let unsigned_payload: Bool?
        let canonical_request: String?
        let string_to_sign: String?
        let signature: String

        var testDescription: String { name }
    }

    let source: String
    let cases: [Case]

    static let all: [Case] = ["sigv4-suite", "sigv4-suite-query", "s3-documentation", "botocore"].flatMap { file in
        let url = Bundle.module.url(forResource: file, withExtension: "json", subdirectory: "Vectors")
        let data = url.flatMap { try? Data(contentsOf: $0) } ?? Data()
        return (try? JSONDecoder().decode(SigV4Vectors.self, from: data))?.cases ?? []
    }
}
