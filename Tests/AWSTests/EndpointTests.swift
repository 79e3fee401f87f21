import CloakroomAWS
import Testing

struct EndpointTests {
    // Cases of botocore 1.44.5, tests/functional/endpoint-rules, as far as they concern plain buckets.
    @Test(arguments: [
        ("us-east-1", false, false, "https://sts.us-east-1.amazonaws.com"),
        ("us-east-1", true, false, "https://sts-fips.us-east-1.amazonaws.com"),
        ("us-east-1", false, true, "https://sts.us-east-1.api.aws"),
        ("us-east-1", true, true, "https://sts-fips.us-east-1.api.aws"),
        ("cn-north-1", false, false, "https://sts.cn-north-1.amazonaws.com.cn"),
        ("cn-north-1", false, true, "https://sts.cn-north-1.api.amazonwebservices.com.cn"),
        ("us-gov-east-1", true, false, "https://sts.us-gov-east-1.amazonaws.com"),
        ("us-gov-east-1", true, true, "https://sts-fips.us-gov-east-1.api.aws"),
        ("us-iso-east-1", false, false, "https://sts.us-iso-east-1.c2s.ic.gov"),
        ("eusc-de-east-1", false, false, "https://sts.eusc-de-east-1.amazonaws.eu"),
        ("aws-global", false, false, "https://sts.amazonaws.com"),
    ])
    func `finds STS`(region: String, fips: Bool, dualStack: Bool, url: String) throws {
        let endpoint = try Endpoint.sts(region: region, variants: .init(fips: fips, dualStack: dualStack))
        #expect(endpoint.url == url)
        #expect(endpoint.signingRegion == (region == "aws-global" ? "us-east-1" : region))
    }

    @Test(arguments: [
        ("photos", nil, nil, "https://photos.s3.us-west-2.amazonaws.com"),
        ("photos", true, nil, "https://s3.us-west-2.amazonaws.com/photos"),
        ("pho.tos", nil, nil, "https://s3.us-west-2.amazonaws.com/pho.tos"),
        ("pho.tos", false, nil, "https://pho.tos.s3.us-west-2.amazonaws.com"),
        ("pho.tos", nil, "http://s3.local", "http://pho.tos.s3.local"),
        ("Photos", nil, nil, "https://s3.us-west-2.amazonaws.com/Photos"),
        ("pho_tos", nil, nil, "https://s3.us-west-2.amazonaws.com/pho_tos"),
        ("aa", nil, nil, "https://s3.us-west-2.amazonaws.com/aa"),
        ("-photos", nil, nil, "https://s3.us-west-2.amazonaws.com/-photos"),
        ("example.com#", nil, nil, "https://s3.us-west-2.amazonaws.com/example.com%23"),
        ("a/../b", nil, nil, "https://s3.us-west-2.amazonaws.com/a%2F..%2Fb"),
        ("photos", nil, "http://127.0.0.1:18333", "http://127.0.0.1:18333/photos"),
        ("photos", nil, "http://[::1]:18333/", "http://[::1]:18333/photos"),
        ("photos", false, "http://127.0.0.1:18333", "http://127.0.0.1:18333/photos"),
        ("photos", nil, "https://Store.Example:443/base/", "https://photos.store.example/base"),
        ("photos", nil, "http://store.example:80", "http://photos.store.example"),
        ("photos", nil, "http://store.example:8080", "http://photos.store.example:8080"),
        ("192.168.5.4", false, nil, "https://s3.us-west-2.amazonaws.com/192.168.5.4"),
    ])
    func `puts the bucket where it works`(bucket: String, pathStyle: Bool?, custom: String?, url: String) throws {
        let endpoint = try Endpoint.s3(region: "us-west-2", bucket: bucket, pathStyle: pathStyle, custom: custom)
        #expect(endpoint.url == url)
    }

    @Test(arguments: [
        ("us-west-2", true, false, "https://photos.s3-fips.us-west-2.amazonaws.com"),
        ("us-west-2", false, true, "https://photos.s3.dualstack.us-west-2.amazonaws.com"),
        ("us-west-2", true, true, "https://photos.s3-fips.dualstack.us-west-2.amazonaws.com"),
        ("cn-north-1", false, true, "https://photos.s3.dualstack.cn-north-1.amazonaws.com.cn"),
        ("us-gov-west-1", true, false, "https://photos.s3-fips.us-gov-west-1.amazonaws.com"),
    ])
    func `knows S3's variants`(region: String, fips: Bool, dualStack: Bool, url: String) throws {
        let variants = EndpointVariants(fips: fips, dualStack: dualStack)
        #expect(try Endpoint.s3(region: region, bucket: "photos", variants: variants).url == url)
    }

    @Test(arguments: ["", "a b", "us-east-1.evil.example", "us-east-1/", "-x", "x-", "ü", "us_east"])
    func `refuses a region that is no DNS label`(region: String) {
        #expect(throws: EndpointError.invalidRegion) { try Endpoint.sts(region: region) }
        #expect(throws: EndpointError.invalidRegion) { try Endpoint.s3(region: region, bucket: "photos") }
    }

    @Test(arguments: [
        "", "127.0.0.1", "ftp://x", "http://", "http://u:p@x", "http://x?y", "http://x#y", "http://x:0",
        "http://x:99999",
        "http://x:y", "http://a b", "http://x/a b", "http://[::1", "http://[::1]x", "http://[evil]",
        "http://x\r\nHost:y",
    ])
    func `refuses an endpoint that is no URL`(url: String) {
        #expect(throws: EndpointError.invalidURL) { try Endpoint(url: url, signingRegion: "us-east-1") }
    }

    @Test func `refuses what contradicts itself`() {
        #expect(throws: EndpointError.noFIPS) {
            try Endpoint.s3(region: "cn-north-1", bucket: "photos", variants: .init(fips: true))
        }
        #expect(throws: EndpointError.variantOfCustomEndpoint) {
            try Endpoint.sts(region: "us-east-1", variants: .init(dualStack: true), custom: "http://x")
        }
        #expect(throws: EndpointError.invalidBucket) { try Endpoint.s3(region: "us-east-1", bucket: "") }
        for bucket in ["arn:aws:s3:us-east-1:1:accesspoint/x", "x--use1-az4--x-s3", "x--xa-s3", "x--op-s3"] {
            #expect(throws: EndpointError.unsupportedBucket) { try Endpoint.s3(region: "us-east-1", bucket: bucket) }
        }
    }

    @Test(arguments: [
        ("us-east-1", "aws"), ("cn-north-1", "aws-cn"), ("us-gov-west-1", "aws-us-gov"), ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"), ("auto", "aws"),
    ])
    func `a Region is in a partition`(region: String, partition: String) {
        #expect(Partition(region: region).identifier == partition)
    }
}
