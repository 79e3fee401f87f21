import AWS

/// The URL of a service, or of a bucket, by the parameters of AWS's endpoint rules.
let endpoint: Verb = { request in
    guard case .object(let values) = request.values["params"] else { throw Unreadable(why: "params is no object") }
    let params = Fields(values: values)
    for name in values.keys.sorted() where !known.contains(name) {
        if case .bool(false) = values[name] { continue }
        throw Unsupported(why: "parameter \(name)")
    }
    let bucket = try params.optionalString("Bucket")
    if let bucket, ["arn:", "--x-s3", "--xa-s3", "--op-s3"].contains(where: { bucket.contains($0) }) {
        throw Unsupported(why: "access points, directory buckets and Outposts")
    }
    let custom = try params.optionalString("Endpoint")
    guard let region = try params.optionalString("Region") else {
        if custom != nil { throw Unsupported(why: "without a region nothing can be signed") }
        return ["error": .string("no region")]
    }
    let variants = EndpointVariants(fips: try params.bool("UseFIPS"), dualStack: try params.bool("UseDualStack"))
    let endpoint: Endpoint
    switch (try request.string("service"), bucket) {
    case ("sts", _): endpoint = try .sts(region: region, variants: variants, custom: custom)
    case ("s3", nil): endpoint = try .s3(region: region, variants: variants, custom: custom)
    case ("s3", let bucket?):
        endpoint = try .s3(
            region: region, bucket: bucket, pathStyle: try params.bool("ForcePathStyle") ? true : nil,
            variants: variants, custom: custom)
    default: throw Unsupported(why: "service")
    }
    return ["url": .string(endpoint.url)]
}

/// What the rules for plain buckets look at, or need not look at.
private let known: Set<String> = [
    "Region", "UseFIPS", "UseDualStack", "Bucket", "ForcePathStyle", "Endpoint", "Key", "Prefix", "CopySource",
    "UseArnRegion", "DisableAccessPoints", "DisableMultiRegionAccessPoints", "DisableS3ExpressSessionAuth",
]
