extension Endpoint {
    /// The one endpoint of IAM in the partition of a region.
    ///
    /// Source: botocore 1.44.5, `data/iam/2010-05-08/endpoint-rule-set-1.json`.
    /// - Parameter custom: a URL to use instead of AWS's own.
    package static func iam(region: String, custom: String? = nil) throws(EndpointError) -> Endpoint {
        guard isDNSLabel(region[...]) else { throw .invalidRegion }
        let partition = Partition(region: region)
        // IAM of China signs for Beijing, all others for the partition's usual region.
        let signingRegion = partition.identifier == "aws-cn" ? "cn-north-1" : partition.globalRegion
        if let custom { return try Endpoint(url: custom, signingRegion: signingRegion) }
        switch partition.identifier {
        case "aws": return Endpoint(host: "iam.\(partition.suffix)", signingRegion: signingRegion)
        case "aws-us-gov": return Endpoint(host: "iam.us-gov.\(partition.suffix)", signingRegion: signingRegion)
        default: return Endpoint(host: "iam.\(signingRegion).\(partition.suffix)", signingRegion: signingRegion)
        }
    }
}
