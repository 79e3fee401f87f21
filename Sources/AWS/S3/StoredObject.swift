package import HTTPValues

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What HEAD tells of an object.
package struct StoredObject: Sendable, Equatable {
    /// With its quotation marks.
    package let entityTag: String
    package let lastModified: Date?
    package let byteCount: Int?
    /// The fields as they came.
    package let fields: HeaderFields

    init?(_ response: UpstreamResponse) {
        guard let tag = response.fields["etag"], !tag.isEmpty else { return nil }
        entityTag = tag
        lastModified = response.fields["last-modified"].flatMap { Timestamp(http: $0)?.date }
        byteCount = response.fields["content-length"].flatMap { Int($0) }
        fields = response.fields
    }

    /// What must be sent again for a copy with replaced metadata to keep them; `nil` when S3 did not show all of them.
    var metadata: HeaderFields? {
        guard fields["x-amz-missing-meta"] == nil else { return nil }
        var kept: HeaderFields = [:]
        for field in fields {
            let name = field.name.lowercased()
            guard Self.kept.contains(name) || name.hasPrefix("x-amz-meta-") else { continue }
            // What was not UTF-8 has been replaced on its way to us; sending that would spoil it.
            guard !field.value.unicodeScalars.contains("\u{FFFD}") else { return nil }
            kept.add(name, field.value)
        }
        return kept
    }

    private static let kept: Set<String> = [
        "cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires",
        "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id",
        "x-amz-server-side-encryption-bucket-key-enabled", "x-amz-website-redirect-location",
    ]
}
