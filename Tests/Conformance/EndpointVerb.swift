import CloakroomAWS

/// The URL of a service, or of a bucket, by the parameters of AWS's endpoint rules.
let endpoint: Verb = { request in
    guard case .object(let values) = request.values["params"] else { throw RequestError(why: "params is no object") }
    let params = Fields(values: values)
    for name in values.keys.sorted() where !known.contains(name) {
        if case .bool(false) = values[name] { continue }
        throw UnsupportedError(why: "parameter \(name)")
    }
    let bucket = try params.optionalString("Bucket")
    let custom = try params.optionalString("Endpoint")
    let variants = EndpointVariants(
        fips: try params.bool("UseFIPS"), dualStack: try params.bool("UseDualStack"),
        legacyGlobal: try params.bool("UseGlobalEndpoint"))
    let forcesPath = try params.bool("ForcePathStyle")
    let service = try request.string("service")
    guard let region = try params.optionalString("Region") ?? (service == "sts" && custom != nil ? "us-east-1" : nil)
    else { return ["error": .string("no region")] }
    if try params.bool("Accelerate") {
        guard custom == nil, !variants.fips, Partition(region: region).identifier == "aws",
            bucket?.contains(".") != true
        else { return ["error": .string("no transfer acceleration there")] }
        throw UnsupportedError(why: "transfer acceleration")
    }
    let endpoint: Endpoint
    do throws(EndpointError) {
        switch (service, bucket) {
        case ("sts", _): endpoint = try .sts(region: region, variants: variants, custom: custom)
        case ("s3", nil): endpoint = try .s3(region: region, variants: variants, custom: custom)
        case ("s3", let bucket?):
            endpoint = try .s3(
                region: region, bucket: bucket, pathStyle: forcesPath ? true : nil, variants: variants, custom: custom)
        default: return ["unsupported": .string("service")]
        }
    } catch {
        let isOurs = error == .unsupportedBucket
        return [
            isOurs ? "unsupported" : "error": .string(
                isOurs ? "access points, directory buckets, Outposts" : "\(error)")
        ]
    }
    return ["url": .string(endpoint.url)]
}

/// What the rules for plain buckets look at, or need not look at.
private let known: Set<String> = [
    "Region", "UseFIPS", "UseDualStack", "Bucket", "ForcePathStyle", "Endpoint", "Key", "Prefix", "CopySource",
    "UseArnRegion", "Accelerate", "UseGlobalEndpoint", "DisableAccessPoints", "DisableMultiRegionAccessPoints",
    "DisableS3ExpressSessionAuth",
]
