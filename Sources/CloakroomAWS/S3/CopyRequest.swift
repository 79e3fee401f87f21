package import CloakroomHTTP

/// CopyObject of objects onto themselves: all that is said of any of them.
///
/// Source: S3 API Reference, CopyObject.
package struct CopyRequest: Sendable {
    package enum MetadataDirective: String, Sendable {
        case copy = "COPY"
        case replace = "REPLACE"
    }

    package var bucket: String
    package var metadataDirective: MetadataDirective
    package var storageClass: String?
    /// A canned one.
    package var acl: String?
    /// The copy happens only if the object has not changed since.
    package var unmodifiedSince: Timestamp?
    /// The copy happens only if the object still has this entity tag.
    package var entityTag: String?
    /// What a copy never keeps by itself: encryption and website redirect.
    package var attributes: HeaderFields
    /// With `replace`: everything else that is to stay.
    package var metadata: HeaderFields
    package var expectedBucketOwner: String?

    package init(
        bucket: String, metadataDirective: MetadataDirective, storageClass: String?, acl: String? = nil,
        unmodifiedSince: Timestamp? = nil, entityTag: String? = nil, attributes: HeaderFields = [:],
        metadata: HeaderFields = [:], expectedBucketOwner: String? = nil
    ) {
        self.bucket = bucket
        self.metadataDirective = metadataDirective
        self.storageClass = storageClass
        self.acl = acl
        self.unmodifiedSince = unmodifiedSince
        self.entityTag = entityTag
        self.attributes = attributes
        self.metadata = metadata
        self.expectedBucketOwner = expectedBucketOwner
    }

    /// Unsigned; the source is the last field, behind those that are the same for all objects.
    package func message(for object: ObjectAddress, at endpoint: Endpoint) -> SigV4.Message {
        var message = messageOfAny(at: endpoint)
        message.path = object.path(at: endpoint)
        message.fields.add(Self.sourceField, object.copySource(in: bucket))
        return message
    }

    static let sourceField = "x-amz-copy-source"

    /// The same for all objects: without path and source.
    func messageOfAny(at endpoint: Endpoint) -> SigV4.Message {
        var fields = metadata
        fields.reserve(
            fields: fields.count + attributes.count + 12, bytes: fields.text.count + attributes.text.count + 1024)
        fields.add(attributes)
        fields.add("host", endpoint.host)
        if let acl { fields.add("x-amz-acl", acl) }
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

extension ObjectAddress {
    func copySource(in bucket: String) -> String { PercentEncoding.encode(bucket) + "/" + encodedKey }
}

/// Signs copies of objects onto themselves that differ in nothing but the key.
final class CachedCopySigner {
    private let origin: String
    private let pathPrefix: String
    private let sourcePrefix: String
    private let fields: CachedRequestSigner
    private let second: Int
    private let signing: Int

    /// - Parameter request: what they all say.
    init(_ request: CopyRequest, _ upstream: AWSServiceClient, _ signing: AWSServiceClient.SigningContext) {
        origin = upstream.origin
        pathPrefix = upstream.endpoint.path + "/"
        sourcePrefix = PercentEncoding.encode(request.bucket) + "/"
        fields = CachedRequestSigner(
            request.messageOfAny(at: upstream.endpoint), open: CopyRequest.sourceField, with: signing.credentials,
            key: signing.key, at: signing.time)
        second = signing.time.secondsSince1970
        self.signing = signing.number
    }

    /// Whether it was made with these credentials and in this second.
    func matches(_ signing: AWSServiceClient.SigningContext) -> Bool {
        signing.number == self.signing && signing.time.secondsSince1970 == second
    }

    func request(for object: ObjectAddress) -> UpstreamRequest {
        let path = pathPrefix + object.encodedKey
        return UpstreamRequest(
            method: "PUT", origin: origin, target: path,
            fields: fields.fields(path: path, value: sourcePrefix + object.encodedKey))
    }
}

/// What a process has learnt about whether its store copies objects onto themselves as they are.
///
/// A store that refused is tried again each hour, by one copy for all: stores are upgraded, and endpoints moved.
struct SelfCopySupport {
    private static let refusalLifetime: Duration = .seconds(3600)

    /// `nil` while nothing was refused.
    private var retriesAt: ContinuousClock.Instant?

    /// - Returns: what the next copy should say of the metadata.
    mutating func directive(
        in mode: RenewalSettings.Mode, now: () -> ContinuousClock.Instant
    ) -> CopyRequest.MetadataDirective {
        switch mode {
        case .copy: return .copy
        case .replace: return .replace
        case .auto:
            guard let retriesAt else { return .copy }
            let now = now()
            guard now >= retriesAt else { return .replace }
            self.retriesAt = now + Self.refusalLifetime
            return .copy
        }
    }

    mutating func wasRefused(at now: ContinuousClock.Instant) { retriesAt = now + Self.refusalLifetime }

    /// It takes copies as they are, or nothing else either.
    mutating func forget() { retriesAt = nil }
}
