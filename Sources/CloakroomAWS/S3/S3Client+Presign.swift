package import CloakroomCrypto
package import CloakroomHTTP
import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension S3Client {
    /// Presigns the upload of one object by PUT.
    ///
    /// - Parameter offset: what AWS's clock shows when ours shows 0, in seconds, where no response of AWS has shown it.
    /// - Returns: it ends with the credentials that signed it, if they end first.
    package func presignUpload(
        _ object: ObjectAddress, terms: UploadTerms, offset: Double = 0
    ) async throws(AWSError) -> PresignedUpload {
        let fields = terms.fields
        var message = unsignedPut(object, fields)
        // In the query S3 minds it as well, and no client has to know.
        if terms.createsOnly { message.query = "If-None-Match=*" }
        let signed = try await upstream.presign(
            [message], for: Int(terms.lifetime.components.seconds), offset: offset)
        return PresignedUpload(url: signed.urls[0], fields: fields, expiration: signed.expiration)
    }

    /// Signs the fields of the upload of one object by PUT, for the caller to send within minutes.
    ///
    /// - Parameters:
    ///   - terms: their lifetime and ``UploadTerms/createsOnly`` say nothing here.
    ///   - offset: as for ``presignUpload(_:terms:offset:)``.
    package func signUpload(
        _ object: ObjectAddress, terms: UploadTerms, offset: Double = 0
    ) async throws(AWSError) -> UpstreamRequest {
        try await upstream.signed(unsignedPut(object, terms.fields), offset: offset)
    }

    /// Presigns the reading of one object by GET.
    ///
    /// - Parameters:
    ///   - contentType: what S3 is to call its type in the response; `nil` for what was stored with it.
    ///   - lifetime: one second to seven days.
    ///   - offset: what AWS's clock shows when ours shows 0, in seconds, where no response of AWS has shown it.
    /// - Returns: it ends with the credentials that signed it, if they end first.
    package func presignDownload(
        _ object: ObjectAddress, contentType: String? = nil, lifetime: Duration, offset: Double = 0
    ) async throws(AWSError) -> (url: Secret, expiration: Date) {
        var message = SigV4.Message(
            method: "GET", path: object.path(at: upstream.endpoint), fields: ["host": upstream.endpoint.host],
            payloadHash: SigV4.unsignedPayload)
        if let contentType { message.query = "response-content-type=\(PercentEncoding.encode(contentType))" }
        let signed = try await upstream.presign([message], for: Int(lifetime.components.seconds), offset: offset)
        return (signed.urls[0], signed.expiration)
    }

    /// Presigns the upload of parts of one object, each of its own length.
    ///
    /// - Returns: a URL for each part, and when they all end.
    package func presignParts(
        _ object: ObjectAddress, uploadID: String, parts: [PartTerms], lifetime: Duration
    ) async throws(AWSError) -> (urls: [Secret], expiration: Date) {
        try await presignParts(
            object, uploadID, parts.map { ($0.number, ["content-length": String($0.byteCount)]) }, lifetime)
    }

    /// Presigns the upload of parts of one object, each of any length.
    ///
    /// - Returns: a URL for each part, and when they all end.
    package func presignParts(
        _ object: ObjectAddress, uploadID: String, numbers: [Int], lifetime: Duration
    ) async throws(AWSError) -> (urls: [Secret], expiration: Date) {
        try await presignParts(object, uploadID, numbers.map { ($0, [:]) }, lifetime)
    }

    private func presignParts(
        _ object: ObjectAddress, _ uploadID: String, _ parts: [(number: Int, fields: HeaderFields)],
        _ lifetime: Duration
    ) async throws(AWSError) -> (urls: [Secret], expiration: Date) {
        let upload = "uploadId=\(PercentEncoding.encode(uploadID))"
        let messages = parts.map { part in
            var message = unsignedPut(object, part.fields)
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
        message.absentFields = store.heededUnsigned.filter { fields[$0] == nil }
        return message
    }
}

/// What an upload must be to be accepted.
package struct UploadTerms: Sendable, Equatable {
    package var contentType: String
    /// Exactly so many bytes; `nil` for any number.
    package var byteCount: Int?
    /// The SHA-256 of the bytes, in base64; `nil` for any bytes.
    package var checksum: String?
    /// An object that is already there stays.
    package var createsOnly: Bool
    /// At most seven days.
    package var lifetime: Duration
    /// What else the upload must send, such as metadata.
    package var otherFields: HeaderFields

    package init(
        contentType: String, byteCount: Int? = nil, checksum: String? = nil, createsOnly: Bool = true,
        lifetime: Duration, otherFields: HeaderFields = [:]
    ) {
        self.otherFields = otherFields
        self.contentType = contentType
        self.byteCount = byteCount
        self.checksum = checksum
        self.createsOnly = createsOnly
        self.lifetime = lifetime
    }
}

extension UploadTerms {
    /// What the upload must send besides `host`.
    fileprivate var fields: HeaderFields {
        var fields: HeaderFields = ["content-type": contentType]
        if let byteCount { fields.add("content-length", String(byteCount)) }
        if let checksum { fields.add("x-amz-checksum-sha256", checksum) }
        fields.add(otherFields)
        return fields
    }
}

/// A presigned PUT of one object.
package struct PresignedUpload: Sendable, Equatable {
    /// A bearer URL: it needs no credentials.
    package let url: Secret
    /// What the upload must send besides `Host`, value for value.
    package let fields: HeaderFields
    package let expiration: Date
}

/// What an object uploaded as a form must be to be accepted.
package struct PostTerms: Sendable, Equatable {
    package var contentType: String
    /// S3 itself refuses fewer and more bytes.
    package var byteCounts: ClosedRange<Int>
    /// The SHA-256 of the bytes, in base64; `nil` for any bytes.
    package var checksum: String?
    package var lifetime: Duration
    /// What else the form must hold, such as metadata.
    package var otherFields: HeaderFields

    package init(
        contentType: String, byteCounts: ClosedRange<Int>, checksum: String? = nil, lifetime: Duration,
        otherFields: HeaderFields = [:]
    ) {
        self.otherFields = otherFields
        self.contentType = contentType
        self.byteCounts = byteCounts
        self.checksum = checksum
        self.lifetime = lifetime
    }
}

/// Leave to POST one object as `multipart/form-data`.
package struct PresignedPost: Sendable, Equatable {
    /// The bucket's.
    package let url: String
    /// What the form must hold besides the file, which comes last. They need no credentials.
    package let fields: [FormField]
    package let expiration: Date
}

/// One field of a form.
package struct FormField: Sendable, Equatable {
    package let name: String
    package let value: Secret

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = Secret(value)
    }
}

/// What S3 holds a form against: each of its fields exactly, and the file's length.
///
/// Source: S3 API Reference, "POST policy"; compared with botocore's `generate_presigned_post`.
struct PostPolicy {
    private let bucket: String
    private let byteCounts: ClosedRange<Int>
    private let expiration: Date
    private let fields: [(name: String, value: String)]

    init(bucket: String, key: String, terms: PostTerms, _ presigningContext: AWSServiceClient.PresigningContext) {
        let signing = presigningContext.signing
        var fields = [("key", key), ("Content-Type", terms.contentType)]
        if let checksum = terms.checksum { fields.append(("x-amz-checksum-sha256", checksum)) }
        fields += terms.otherFields.map { ($0.name, $0.value) }
        fields += [
            ("x-amz-algorithm", SigV4.algorithm),
            ("x-amz-credential", "\(signing.credentials.accessKeyID)/\(signing.key.scope)"),
            ("x-amz-date", signing.time.basic),
        ]
        if let token = signing.credentials.sessionToken { fields.append(("x-amz-security-token", token.reveal())) }
        self.fields = fields
        self.bucket = bucket
        byteCounts = terms.byteCounts
        expiration = presigningContext.expiration
    }

    func form(signedWith key: SigningKey) -> [FormField] {
        let policy = Data(text).base64EncodedString()
        return fields.map { FormField($0.name, $0.value) } + [
            FormField("policy", policy), FormField("x-amz-signature", key.sign(Array(policy.utf8))),
        ]
    }

    /// JSON.
    private var text: [UInt8] {
        var writer = JSONWriter(capacity: 2048)
        writer.beginObject()
        writer.plainName("expiration")
        writer.string(Timestamp(expiration).iso8601)
        writer.plainName("conditions")
        writer.beginArray()
        writer.beginArray()
        writer.plainString("content-length-range")
        writer.integer(byteCounts.lowerBound)
        writer.integer(byteCounts.upperBound)
        writer.endArray()
        for (name, value) in [("bucket", bucket)] + fields {
            writer.beginObject()
            writer.name(name)
            writer.string(value)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}
