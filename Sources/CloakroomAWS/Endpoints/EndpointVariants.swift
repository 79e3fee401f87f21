/// Which of AWS's hosts for a service is meant.
package struct EndpointVariants: Sendable, Equatable {
    package var fips: Bool
    package var dualStack: Bool
    /// The one host for all the world that services had before they had regional ones. The worker never asks for it:
    /// its tokens do not hold everywhere.
    package var legacyGlobal: Bool

    package init(fips: Bool = false, dualStack: Bool = false, legacyGlobal: Bool = false) {
        self.fips = fips
        self.dualStack = dualStack
        self.legacyGlobal = legacyGlobal
    }

    /// Whether a particular one of AWS's hosts is requested.
    var isSpecial: Bool { fips || dualStack }
}

extension Endpoint {
    /// The endpoint of STS in a region; tokens from there hold in every region.
    ///
    /// Source: botocore 1.44.5, `data/sts/2011-06-15/endpoint-rule-set-1.json`.
    /// - Parameter custom: a URL to use instead of AWS's own.
    package static func sts(
        region: String, variants: EndpointVariants = .init(), custom: String? = nil
    ) throws(EndpointError) -> Endpoint {
        guard isDNSLabel(region[...]) else { throw .invalidRegion }
        if let custom {
            guard !variants.isSpecial else { throw .variantOfCustomEndpoint }
            return try Endpoint(url: custom, signingRegion: region)
        }
        let partition = Partition(region: region)
        let isGlobal = region == "aws-global" || (variants.legacyGlobal && legacyRegions.contains(region))
        if isGlobal, !variants.isSpecial {
            return Endpoint(host: "sts.\(partition.suffix)", signingRegion: partition.globalRegion)
        }
        let suffix = variants.dualStack ? partition.dualStackSuffix : partition.suffix
        // The plain hosts of GovCloud are FIPS endpoints already.
        let isPlain = !variants.fips || (partition.identifier == "aws-us-gov" && !variants.dualStack)
        return Endpoint(host: "\(isPlain ? "sts" : "sts-fips").\(region).\(suffix)", signingRegion: region)
    }

    /// The endpoint of S3 for one bucket, the bucket in the host or in the path.
    ///
    /// Source: botocore 1.44.5, `data/s3/2006-03-01/endpoint-rule-set-1.json`.
    /// - Parameter pathStyle: `nil` puts the bucket into the host wherever that works.
    package static func s3(
        region: String, bucket: String, pathStyle: Bool? = nil, variants: EndpointVariants = .init(),
        custom: String? = nil
    ) throws(EndpointError) -> Endpoint {
        guard !bucket.isEmpty else { throw .invalidBucket }
        guard !isSpecial(bucket) else { throw .unsupportedBucket }
        let service = try s3(region: region, variants: variants, custom: custom)
        let allowsDots = service.scheme == .http
        let inHost: Bool
        switch pathStyle {
        case true: inHost = false
        case false: inHost = isHostable(bucket, allowsDots: true) && !service.isAddress
        default: inHost = isHostable(bucket, allowsDots: allowsDots) && !service.isAddress
        }
        return inHost
            ? Endpoint(
                scheme: service.scheme, host: "\(bucket).\(service.host)", path: service.path,
                signingRegion: service.signingRegion)
            : Endpoint(
                scheme: service.scheme, host: service.host,
                path: "\(service.path)/\(PercentEncoding.encode(bucket))", signingRegion: service.signingRegion)
    }

    /// The endpoint of S3 without a bucket.
    package static func s3(
        region: String, variants: EndpointVariants = .init(), custom: String? = nil
    ) throws(EndpointError) -> Endpoint {
        guard isDNSLabel(region[...]) else { throw .invalidRegion }
        let partition = Partition(region: region)
        if let custom {
            guard !variants.isSpecial else { throw .variantOfCustomEndpoint }
            return try Endpoint(url: custom, signingRegion: region == "aws-global" ? partition.globalRegion : region)
        }
        if variants.fips, partition.identifier == "aws-cn" { throw .noFIPS }
        let service = (variants.fips ? "s3-fips" : "s3") + (variants.dualStack ? ".dualstack" : "")
        let isGlobal = region == "aws-global"
        let isLegacy = variants.legacyGlobal && region == "us-east-1"
        let hostRegion =
            (isGlobal || isLegacy) && !variants.isSpecial ? "" : ".\(isGlobal ? partition.globalRegion : region)"
        return Endpoint(
            host: "\(service)\(hostRegion).\(partition.suffix)",
            signingRegion: isGlobal ? partition.globalRegion : region)
    }

    /// Regions whose legacy host of STS is the global one.
    private static let legacyRegions: Set<String> = [
        "ap-northeast-1", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "ca-central-1", "eu-central-1",
        "eu-north-1", "eu-west-1", "eu-west-2", "eu-west-3", "sa-east-1", "us-east-1", "us-east-2", "us-west-1",
        "us-west-2",
    ]

    /// Access points, directory buckets and Outposts have rules, and some of them signatures, of their own.
    private static func isSpecial(_ bucket: String) -> Bool {
        bucket.hasPrefix("arn:") || ["--x-s3", "--xa-s3", "--op-s3"].contains { bucket.hasSuffix($0) }
    }

    /// Whether a bucket's name can stand in a host name: 3 to 63 characters, labels, no address.
    private static func isHostable(_ bucket: String, allowsDots: Bool) -> Bool {
        guard (3...63).contains(bucket.utf8.count) else { return false }
        let labels = bucket.split(separator: ".", omittingEmptySubsequences: false)
        guard allowsDots || labels.count == 1, !labels.allSatisfy({ UInt8($0) != nil }) || labels.count != 4 else {
            return false
        }
        return labels.allSatisfy { isDNSLabel($0) && !$0.utf8.contains(where: isUppercase) }
    }
}
