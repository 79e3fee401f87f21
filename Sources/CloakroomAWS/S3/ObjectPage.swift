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
        /// In bytes.
        package let size: Int
        /// With its quotation marks; empty when the store does not tell it.
        package let entityTag: String
        /// Empty for the usual one.
        package let storageClass: String
        private let modified: String

        init(key: String, size: Int, _ element: XMLElement) {
            self.key = key
            self.size = size
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

    /// Larger than a thousand of the longest keys, each byte percent-encoded, with all that S3 tells of an object.
    package static let maximumBytes = 1 << 23
    private static let limits = XMLReader.Limits(bytes: maximumBytes, elements: 1 << 15)

    /// - Parameter prefix: as it was requested: a page with a key without it is invalid.
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
                key.hasPrefix(prefix), let size = element.text(of: "Size").flatMap(StoredNumber.byteCount)
            else { throw malformed }
            entries.append(Entry(key: key, size: size, element))
        }
        self.entries = entries
        var folders: [String] = []
        for element in root.children where element.name == "CommonPrefixes" {
            guard let text = element.text(of: "Prefix"), let folder = isEncoded ? Self.decoded(text) : text,
                folder.hasPrefix(prefix)
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
