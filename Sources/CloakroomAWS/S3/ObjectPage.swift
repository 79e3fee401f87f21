import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One page of a listing: in the store's order.
package struct ObjectPage: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package let key: String
        /// In bytes; `nil` for a size that no object of S3 has.
        package let size: Int?
        /// With its quotation marks; empty when the store does not tell it.
        package let entityTag: String
        /// Empty for the usual one.
        package let storageClass: String
        private let modified: String

        init(key: String, _ element: XMLElement) {
            self.key = key
            size = element.text(of: "Size").flatMap(StoredNumber.byteCount)
            entityTag = element.text(of: "ETag") ?? ""
            storageClass = element.text(of: "StorageClass") ?? ""
            modified = element.text(of: "LastModified") ?? ""
        }

        /// Read only now: those who count bytes need none.
        package var lastModified: Date? { Timestamp(iso8601: modified)?.date }

        /// In an archive tier; whether a restored copy is there, a listing does not tell.
        package var isArchived: Bool { storageClass == "GLACIER" || storageClass == "DEEP_ARCHIVE" }
    }

    package let entries: [Entry]
    /// Where the listing has a delimiter: beginnings of keys up to it, each once, in place of the keys.
    package let folders: [String]
    /// The token for the next page; `nil` at the end.
    package let continuation: String?
    /// When the store sent the page, by its own clock; `nil` where it does not say.
    package let date: Date?

    /// Larger than a thousand of the longest keys, each byte percent-encoded, with all that S3 tells of an object.
    package static let maximumBytes = 1 << 23
    private static let limits = XMLReader.Limits(bytes: maximumBytes, elements: 1 << 15)

    /// - Parameter prefix: as it was requested: a page with a key without it is invalid. Compared byte by byte, as S3 does:
    ///   `hasPrefix` does not find it where a combining mark follows.
    /// - Throws: ``AWSError``: transient for what is no listing.
    init(_ response: UpstreamResponse, prefix: String) throws(AWSError) {
        let root = try? XMLReader.read(response.body, limits: Self.limits)
        guard response.status == 200, let root, root.name == "ListBucketResult" else {
            throw AWSError(response, error: root.flatMap { AWSErrorResponse($0) })
        }
        let malformed = AWSError(.transient, status: 200, code: "MalformedAnswer")
        let isEncoded = root.text(of: "EncodingType") == "url"
        var entries: [Entry] = []
        for element in root.children where element.name == "Contents" {
            guard let text = element.text(of: "Key"), let key = isEncoded ? Self.decoded(text) : text,
                key.utf8.starts(with: prefix.utf8)
            else { throw malformed }
            entries.append(Entry(key: key, element))
        }
        self.entries = entries
        date = response.fields["date"].flatMap { Timestamp(http: $0)?.date }
        var folders: [String] = []
        for element in root.children where element.name == "CommonPrefixes" {
            guard let text = element.text(of: "Prefix"), let folder = isEncoded ? Self.decoded(text) : text,
                folder.utf8.starts(with: prefix.utf8)
            else { throw malformed }
            folders.append(folder)
        }
        self.folders = folders
        guard root.text(of: "IsTruncated") == "true" else {
            continuation = nil
            return
        }
        guard let token = root.text(of: "NextContinuationToken"), !token.isEmpty else { throw malformed }
        continuation = token
    }

    /// S3 writes a space as `+` here (S3 API Reference, ListObjectsV2: "URL encoding"), and a plus sign as `%2B`.
    static func decoded(_ text: String) -> String? {
        let bytes = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return PercentEncoding.decodeText(bytes)
    }
}

/// One page of a listing of versions: by key, and the newest version of a key first.
///
/// Source: S3 API Reference, ListObjectVersions.
package struct VersionPage: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package let key: String
        package let isLatest: Bool
        package let isDeleteMarker: Bool
        /// Empty where the store names none.
        package let version: String
        /// In bytes; 0 for a delete marker, `nil` for a size that no object of S3 has.
        package let size: Int?
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
            guard let key = element.text(of: "Key").flatMap(decoded), key.utf8.starts(with: prefix.utf8) else {
                throw malformed
            }
            entries.append(
                Entry(
                    key: key, isLatest: element.text(of: "IsLatest") == "true", isDeleteMarker: isMarker,
                    version: element.text(of: "VersionId") ?? "",
                    size: isMarker ? 0 : element.text(of: "Size").flatMap(StoredNumber.byteCount),
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
        return try await bucketCall("GET", query, deadline) { response throws(AWSError) in
            try VersionPage(response, prefix: prefix)
        }
    }
}

extension S3Client {
    /// Where a page begins.
    package enum ListPosition: Sendable, Equatable {
        case start
        /// Behind a key, whether it is still there or not.
        case after(key: String)
        case continuation(String)
    }

    /// Lists objects whose keys begin with a prefix, a page of at most 1,000 at a time (ListObjectsV2).
    ///
    /// - Parameter delimiter: keys with it behind the prefix come as ``ObjectPage/folders`` only.
    package func list(
        prefix: String, delimiter: String? = nil, from position: ListPosition, deadline: ContinuousClock.Instant
    ) async throws(AWSError) -> ObjectPage {
        var query = delimiter.map { "delimiter=\(PercentEncoding.encode($0))&" } ?? ""
        query += "encoding-type=url&list-type=2&max-keys=1000&prefix=\(PercentEncoding.encode(prefix))"
        switch position {
        case .start: break
        case .after(let key): query += "&start-after=\(PercentEncoding.encode(key))"
        case .continuation(let token): query = "continuation-token=\(PercentEncoding.encode(token))&" + query
        }
        return try await bucketCall("GET", query, deadline) { response throws(AWSError) in
            try ObjectPage(response, prefix: prefix)
        }
    }
}
