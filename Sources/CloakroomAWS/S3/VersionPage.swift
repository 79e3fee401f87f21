import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One page of a listing of versions: by key, and the newest version of a key first.
///
/// Source: S3 API Reference, ListObjectVersions.
package struct VersionPage: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package let key: String
        package let isLatest: Bool
        package let isDeleteMarker: Bool
        /// In bytes; 0 for a delete marker.
        package let size: Int
        package let lastModified: Date?
    }

    package struct Position: Sendable, Equatable {
        package let key: String
        /// Empty for behind all versions of the key.
        package let version: String
    }

    package let entries: [Entry]
    /// Where the next page begins; `nil` at the end.
    package let next: Position?

    private static let limits = XMLReader.Limits(bytes: ObjectPage.maximumBytes, elements: 1 << 15)

    /// - Throws: ``AWSError``: transient for what is no listing.
    init(_ response: UpstreamResponse, prefix: String) throws(AWSError) {
        let root = try? XMLReader.read(response.body, limits: Self.limits)
        guard response.status == 200, let root, root.name == "ListVersionsResult" else {
            throw AWSError(response, error: root.flatMap { AWSErrorResponse($0) })
        }
        let malformed = AWSError(.transient, status: 200, code: "MalformedAnswer")
        let isEncoded = root.text(of: "EncodingType") == "url"
        func decoded(_ text: String) -> String? { isEncoded ? ObjectPage.decoded(text) : text }
        var entries: [Entry] = []
        for element in root.children where element.name == "Version" || element.name == "DeleteMarker" {
            let isMarker = element.name == "DeleteMarker"
            guard let key = element.text(of: "Key").flatMap(decoded), key.hasPrefix(prefix),
                let size = isMarker ? 0 : element.text(of: "Size").flatMap(StoredNumber.byteCount)
            else { throw malformed }
            entries.append(
                Entry(
                    key: key, isLatest: element.text(of: "IsLatest") == "true", isDeleteMarker: isMarker, size: size,
                    lastModified: element.text(of: "LastModified").flatMap { Timestamp(iso8601: $0)?.date }))
        }
        self.entries = entries
        guard root.text(of: "IsTruncated") == "true" else {
            next = nil
            return
        }
        guard let key = root.text(of: "NextKeyMarker").flatMap(decoded), !key.isEmpty else { throw malformed }
        next = Position(key: key, version: root.text(of: "NextVersionIdMarker") ?? "")
    }
}

extension S3Client {
    /// Lists the versions of objects whose keys begin with a prefix, a page of at most 1,000 at a time.
    package func versions(
        prefix: String, from position: VersionPage.Position?, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> VersionPage {
        // In the order of a canonical query.
        var query = "encoding-type=url"
        if let position { query += "&key-marker=\(PercentEncoding.encode(position.key))" }
        query += "&max-keys=1000&prefix=\(PercentEncoding.encode(prefix))"
        if let position, !position.version.isEmpty {
            query += "&version-id-marker=\(PercentEncoding.encode(position.version))"
        }
        query += "&versions="
        return try await bucketCall(.listObjects, "GET", query, deadline) { response throws(AWSError) in
            try VersionPage(response, prefix: prefix)
        }
    }
}
