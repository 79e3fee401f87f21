import CloakroomWire
import Foundation
import Testing

/// The shipped clients take what the worker writes: their decoder, and the members they cannot do without.
@Suite struct ShippedClientTests {
    private struct Presigned: Decodable, Equatable {
        let objectKey: String
        let uploadUrl: String
        let assetUrl: String
    }

    private struct Renewals: Decodable, Equatable {
        struct Result: Decodable, Equatable {
            let key: String
            let success: Bool
            let error: String?
        }

        let renewed: Int
        let failed: Int
        let results: [Result]
    }

    private struct Credentials: Decodable, Equatable {
        struct Keys: Decodable, Equatable {
            let accessKeyId: String
            let secretAccessKey: String
            let sessionToken: String
            let expiration: Date
        }

        let credentials: Keys
        let region: String
        let bucket: String
    }

    private struct Failure: Decodable, Equatable {
        let error: String
    }

    private let end = Date(timeIntervalSince1970: 1_795_186_800)

    /// As both clients make it; a date with a fraction would be refused.
    private func read<Body: Decodable>(_ body: some WireBody, as type: Body.Type) throws -> Body {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: Data(body.encoded))
    }

    @Test func `a place for an upload`() throws {
        let body = UploadBody(
            objectKey: "k.bin", uploadUrl: "https://s3.example/k.bin?X-Amz-Signature=5", assetUrl: "https://a/k.bin",
            expiresAt: end, headers: ["Content-Type": "image/jpeg"])
        #expect(
            try read(body, as: Presigned.self)
                == Presigned(
                    objectKey: "k.bin", uploadUrl: "https://s3.example/k.bin?X-Amz-Signature=5",
                    assetUrl: "https://a/k.bin"))
    }

    @Test func `renewals, every failure among them`() throws {
        let failures = RenewalErrorCode.allCases
        let body = RenewBatchBody(
            results: [RenewResult(key: "a/\u{E9}\n", renewedUntil: end.addingTimeInterval(0.5))]
                + failures.map { RenewResult(key: $0.rawValue, failure: $0) })
        #expect(
            try read(body, as: Renewals.self)
                == Renewals(
                    renewed: 1, failed: failures.count,
                    results: [.init(key: "a/\u{E9}\n", success: true, error: nil)]
                        + failures.map { .init(key: $0.rawValue, success: false, error: $0.rawValue) }))
    }

    @Test func `credentials, their end cut to the second`() throws {
        let body = STSTokenBody(
            credentials: .init(
                accessKeyId: "ASIA", secretAccessKey: "s", sessionToken: "t", expiration: end.addingTimeInterval(0.9)),
            region: "r", bucket: "b")
        #expect(
            try read(body, as: Credentials.self)
                == Credentials(
                    credentials: .init(accessKeyId: "ASIA", secretAccessKey: "s", sessionToken: "t", expiration: end),
                    region: "r", bucket: "b"))
    }

    @Test(arguments: ErrorCode.allCases)
    func `an error`(code: ErrorCode) throws {
        #expect(try read(ErrorBody(error: "Why", code: code), as: Failure.self) == Failure(error: "Why"))
    }
}
