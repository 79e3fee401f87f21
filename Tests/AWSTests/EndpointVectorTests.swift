import CloakroomAWS
import Foundation
import Testing

/// Against what botocore's rule sets give for the same parameters.
struct EndpointVectorTests {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        struct Params: Decodable, Sendable {
            var Region: String?
            var Bucket: String?
            var Endpoint: String?
            var UseFIPS: Bool?
            var UseDualStack: Bool?
            var UseGlobalEndpoint: Bool?
            var ForcePathStyle: Bool?
        }

        let service: String
        let params: Params
        /// `nil`: an error.
        let url: String?
        /// What is signed for; `nil`: the region asked for.
        let region: String?

        var testDescription: String { "\(service) \(params)" }
    }

    private struct File: Decodable { let cases: [Case] }

    static let cases: [Case] = {
        let url = Bundle.module.url(forResource: "endpoints", withExtension: "json", subdirectory: "Vectors")
        let data = url.flatMap { try? Data(contentsOf: $0) } ?? Data()
        return (try? JSONDecoder().decode(File.self, from: data))?.cases ?? []
    }()

    @Test func `has them`() { #expect(Self.cases.count == 400) }

    @Test func `finds the same endpoints, and none where there is none`() {
        for example in Self.cases {
            let found = endpoint(example)
            #expect(found?.url == example.url, "\(example.testDescription)")
            if let found, let region = example.region {
                #expect(found.signingRegion == region, "\(example.testDescription)")
            }
        }
    }

    private func endpoint(_ example: Case) -> Endpoint? {
        let params = example.params
        let variants = EndpointVariants(
            fips: params.UseFIPS ?? false, dualStack: params.UseDualStack ?? false,
            legacyGlobal: params.UseGlobalEndpoint ?? false)
        guard let region = params.Region else { return nil }
        if example.service == "sts" { return try? .sts(region: region, variants: variants, custom: params.Endpoint) }
        guard let bucket = params.Bucket else {
            return try? .s3(region: region, variants: variants, custom: params.Endpoint)
        }
        return try? .s3(
            region: region, bucket: bucket, pathStyle: params.ForcePathStyle, variants: variants,
            custom: params.Endpoint)
    }
}
