import CloakroomAWS
import CloakroomHTTP

/// The unsigned copy of an object onto itself.
let copy: Verb = { request in
    let bucket = try request.string("bucket")
    let endpoint = try Endpoint.s3(
        region: try request.optionalString("region") ?? "us-east-1", bucket: bucket,
        pathStyle: try request.bool("path_style") ? true : nil)
    guard let object = ObjectAddress(key: try request.string("key")) else { throw RequestError(why: "invalid key") }
    let name = try request.optionalString("metadata_directive") ?? "COPY"
    guard let directive = CopyRequest.MetadataDirective(rawValue: name) else {
        throw UnsupportedError(why: "no such metadata directive")
    }
    let message = CopyRequest(
        bucket: bucket, metadataDirective: directive, storageClass: try request.optionalString("storage_class")
    ).message(for: object, at: endpoint)
    return [
        "method": .string(message.method), "path": .string(message.path),
        "headers": .array(message.fields.map { .array([.string($0.name), .string($0.value)]) }),
    ]
}
