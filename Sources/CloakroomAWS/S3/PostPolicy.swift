package import CloakroomCrypto
import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What an object uploaded as a form must be to be accepted.
package struct PostTerms: Sendable, Equatable {
    package var contentType: String
    /// S3 itself refuses fewer and more bytes.
    package var byteCounts: ClosedRange<Int>
    /// The SHA-256 of the bytes, in base64; `nil` for any bytes.
    package var checksum: String?
    package var lifetime: Duration

    package init(contentType: String, byteCounts: ClosedRange<Int>, checksum: String? = nil, lifetime: Duration) {
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
