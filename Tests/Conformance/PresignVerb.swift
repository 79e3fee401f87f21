import CloakroomAWS
import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A presigned URL of S3 that binds nothing but method, key and time.
let presign: Verb = { request in
    let time = try timestamp(request)
    let region = try request.string("region")
    let endpoint = try Endpoint.s3(
        region: region, bucket: try request.string("bucket"), pathStyle: try request.bool("path_style") ? true : nil,
        custom: try request.optionalString("endpoint"))
    guard let object = ObjectAddress(key: try request.string("key")) else { throw RequestError(why: "invalid key") }
    var message = SigV4.Message(
        method: try request.string("method"), path: object.path(at: endpoint), fields: ["host": endpoint.host],
        payloadHash: SigV4.unsignedPayload)
    let credentials = try credentials(request)
    let key = SigningKey(
        secretAccessKey: credentials.secretAccessKey, day: time.day, region: endpoint.signingRegion, service: "s3")
    let seconds = try request.integer("expires")
    SigV4(rules: .s3).presign(&message, for: seconds, with: credentials, key: key, at: time)
    return ["url": .string("\(endpoint.scheme.rawValue)://\(endpoint.host)\(message.path)?\(message.query)")]
}
