package import HTTPValues

/// CopyObject of an object onto itself.
///
/// Source: S3 API Reference, CopyObject.
package struct CopyRequest: Sendable {
    package enum MetadataDirective: String, Sendable {
        case copy = "COPY"
        case replace = "REPLACE"
    }

    package var bucket: String
    package var object: ObjectAddress
    package var metadataDirective: MetadataDirective
    package var storageClass: String?
    /// The copy happens only if the object has not changed since.
    package var unmodifiedSince: Timestamp?
    /// The copy happens only if the object still has this entity tag.
    package var entityTag: String?
    /// With `replace`: everything that is to stay.
    package var metadata: HeaderFields
    package var expectedBucketOwner: String?

    package init(
        bucket: String, object: ObjectAddress, metadataDirective: MetadataDirective, storageClass: String?,
        unmodifiedSince: Timestamp? = nil, entityTag: String? = nil, metadata: HeaderFields = [:],
        expectedBucketOwner: String? = nil
    ) {
        self.bucket = bucket
        self.object = object
        self.metadataDirective = metadataDirective
        self.storageClass = storageClass
        self.unmodifiedSince = unmodifiedSince
        self.entityTag = entityTag
        self.metadata = metadata
        self.expectedBucketOwner = expectedBucketOwner
    }

    /// Unsigned; the source is the last field, behind those that are the same for all objects.
    package func message(at endpoint: Endpoint) -> SigV4.Message {
        var message = messageOfAny(at: endpoint)
        message.path = object.path(at: endpoint)
        message.fields.add(Self.sourceField, source)
        return message
    }

    static let sourceField = "x-amz-copy-source"

    var source: String { PercentEncoding.encode(bucket) + "/" + object.encodedKey }

    /// The same for all objects: without path and source.
    func messageOfAny(at endpoint: Endpoint) -> SigV4.Message {
        var fields = metadata
        fields.reserve(fields: fields.count + 12, bytes: fields.text.count + 1024)
        fields.add("host", endpoint.host)
        if let entityTag { fields.add("x-amz-copy-source-if-match", entityTag) }
        if let unmodifiedSince { fields.add("x-amz-copy-source-if-unmodified-since", unmodifiedSince.http) }
        if let expectedBucketOwner { fields.add("x-amz-expected-bucket-owner", expectedBucketOwner) }
        fields.add("x-amz-metadata-directive", metadataDirective.rawValue)
        if let expectedBucketOwner { fields.add("x-amz-source-expected-bucket-owner", expectedBucketOwner) }
        if let storageClass { fields.add("x-amz-storage-class", storageClass) }
        // Its default everywhere but in some stores, when the metadata are replaced.
        if metadataDirective == .replace { fields.add("x-amz-tagging-directive", "COPY") }
        return SigV4.Message(method: "PUT", path: "", fields: fields, payloadHash: SigV4.emptyPayloadHash)
    }
}
