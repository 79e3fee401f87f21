package import CloakroomCrypto
import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension S3Client {
    /// Presigns the upload of one object by PUT.
    ///
    /// - Returns: it ends with the credentials that signed it, if they end first.
    package func presignUpload(_ object: ObjectAddress, terms: UploadTerms) async throws(AWSError) -> PresignedUpload {
        var fields: HeaderFields = ["content-type": terms.contentType]
        if let byteCount = terms.byteCount { fields.add("content-length", String(byteCount)) }
        if let checksum = terms.checksum { fields.add("x-amz-checksum-sha256", checksum) }
        var message = unsignedPut(object, fields)
        // In the query S3 minds it as well, and no client has to know.
        if terms.createsOnly { message.query = "If-None-Match=*" }
        let signed = try await upstream.presign([message], for: Int(terms.lifetime.components.seconds))
        return PresignedUpload(url: signed.urls[0], fields: fields, expiration: signed.expiration)
    }

    /// Presigns the upload of parts of one object, each of its own length.
    ///
    /// - Returns: a URL for each part, and when they all end.
    package func presignParts(
        _ object: ObjectAddress, uploadID: String, parts: [PartTerms], lifetime: Duration
    ) async throws(AWSError) -> (urls: [Secret], expiration: Date) {
        let upload = "uploadId=\(PercentEncoding.encode(uploadID))"
        let messages = parts.map { part in
            var message = unsignedPut(object, ["content-length": String(part.byteCount)])
            message.query = "partNumber=\(part.number)&\(upload)"
            return message
        }
        return try await upstream.presign(messages, for: Int(lifetime.components.seconds))
    }

    /// Presigns the upload of one object as a form.
    ///
    /// - Returns: it ends with the credentials that signed it, if they end first.
    package func presignPost(key: String, terms: PostTerms) async throws(AWSError) -> PresignedPost {
        let presigningContext = try await upstream.presigningContext(for: Int(terms.lifetime.components.seconds))
        let policy = PostPolicy(bucket: bucket, key: key, terms: terms, presigningContext)
        let path = upstream.endpoint.path.isEmpty ? "/" : upstream.endpoint.path
        return PresignedPost(
            url: upstream.origin + path, fields: policy.form(signedWith: presigningContext.signing.key),
            expiration: presigningContext.expiration)
    }

    private func unsignedPut(_ object: ObjectAddress, _ fields: HeaderFields) -> SigV4.Message {
        var message = SigV4.Message(
            method: "PUT", path: object.path(at: upstream.endpoint), fields: fields,
            payloadHash: SigV4.unsignedPayload)
        message.fields.add("host", upstream.endpoint.host)
        return message
    }
}
