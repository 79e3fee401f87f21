import CloakroomCrypto
package import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What S3 tells of an object, with HEAD or once it has stored it.
package struct StoredObject: Sendable, Equatable {
    /// With its quotation marks.
    package let entityTag: String
    package let lastModified: Date?
    /// `nil` also for a size that no object of S3 has.
    package let byteCount: Int?
    /// The fields as they came.
    package let fields: HeaderFields

    /// - Returns: `nil` for a response without an entity tag.
    package init?(_ response: UpstreamResponse) {
        guard let tag = response.fields["etag"], !tag.isEmpty else { return nil }
        entityTag = tag
        lastModified = response.fields["last-modified"].flatMap { Timestamp(http: $0)?.date }
        byteCount = response.fields["content-length"].flatMap { StoredNumber.byteCount($0) }
        fields = response.fields
    }

    /// So large that a slow copy of it goes on as a multipart copy.
    var isLarge: Bool { byteCount ?? 0 >= MultipartCopy.minimumMultipartBytes }

    /// S3 does not name the usual one.
    package var storageClass: String { fields["x-amz-storage-class"] ?? "STANDARD" }

    /// Which version of the object it is, on a bucket that has or had versions.
    package var versionID: String? { fields["x-amz-version-id"] }

    /// When the store sent this, by its own clock; `nil` where it does not say.
    package var date: Date? { fields["date"].flatMap { Timestamp(http: $0)?.date } }

    /// 0 also when we may not read them; a number that no object has counts as one.
    package var tagCount: Int {
        fields["x-amz-tagging-count"].map { StoredNumber.number($0, in: 0...1000) ?? 1 } ?? 0
    }

    /// Whether ``byteCount`` is what the response said.
    var hasReadableSize: Bool { byteCount != nil || fields["content-length"] == nil }

    /// Whether every field can be sent back: none has a control character beside a tab (RFC 9110 §5.5).
    var hasSendableFields: Bool {
        // Each field ends in a NUL.
        fields.text.count { $0 == 0 } == fields.count && fields.text.allSatisfy { $0 >= 0x20 || $0 == 0x09 || $0 == 0 }
    }

    /// In an archive tier, and no restored copy is there to be read.
    ///
    /// Source: S3 API Reference, HeadObject, `x-amz-archive-status` and `x-amz-restore`.
    package var isArchived: Bool {
        if fields["x-amz-archive-status"] != nil { return true }
        guard ["GLACIER", "DEEP_ARCHIVE"].contains(storageClass) else { return false }
        return fields["x-amz-restore"]?.contains("ongoing-request=\"false\"") != true
    }

    /// The MD5 of its bytes in hexadecimal, where the entity tag is that: of a single upload that is not encrypted
    /// with a key of KMS or of its owner.
    ///
    /// Source: S3 API Reference, "Object", ETag.
    package var md5: String? {
        guard !isKeyEncrypted else { return nil }
        return Self.hexadecimal(entityTag.filter { $0 != "\"" }[...])
    }

    /// The MD5 of its parts' MD5s in hexadecimal and their number, where the entity tag is that.
    package var partsMD5: (md5: String, count: Int)? {
        let halves = entityTag.filter { $0 != "\"" }.split(separator: "-", omittingEmptySubsequences: false)
        guard !isKeyEncrypted, halves.count == 2, let md5 = Self.hexadecimal(halves[0]),
            let count = StoredNumber.partNumber(String(halves[1]))
        else { return nil }
        return (md5, count)
    }

    /// What S3 makes the entity tag of a multipart upload's object of: the MD5 of its parts' MD5s.
    ///
    /// - Parameter etags: with or without quotation marks.
    /// - Returns: in hexadecimal; `nil` when one of them is no MD5, as under a key of KMS.
    package static func md5(ofParts etags: [String]) -> String? {
        var digests: [UInt8] = []
        for etag in etags {
            let bare = etag.filter { $0 != "\"" }
            guard let digest = [UInt8](hexadecimal: bare.utf8), digest.count == MD5.byteCount else { return nil }
            digests += digest
        }
        return MD5.hash(digests).hexadecimal
    }

    private static func hexadecimal(_ text: Substring) -> String? {
        text.utf8.count == 32
            && text.utf8.allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
            ? String(text) : nil
    }

    private var isKeyEncrypted: Bool { isOwnerEncrypted || kmsAlgorithm != nil }

    private var kmsAlgorithm: String? {
        fields["x-amz-server-side-encryption"].flatMap { $0.hasPrefix("aws:kms") ? $0 : nil }
    }

    /// The key of KMS that it is encrypted with: its ARN, or the algorithm where a store names no key.
    package var kmsKey: String? { fields["x-amz-server-side-encryption-aws-kms-key-id"] ?? kmsAlgorithm }

    /// Encrypted with a key that only its owner has (SSE-C).
    package var isOwnerEncrypted: Bool { fields["x-amz-server-side-encryption-customer-algorithm"] != nil }

    /// Held by Object Lock; shown only to those with `s3:GetObjectRetention` and `s3:GetObjectLegalHold`.
    package func isLocked(at time: Date) -> Bool {
        if fields["x-amz-object-lock-legal-hold"] == "ON" { return true }
        guard fields["x-amz-object-lock-mode"] != nil else { return false }
        guard let end = fields["x-amz-object-lock-retain-until-date"].flatMap({ Timestamp(iso8601: $0)?.date }) else {
            return true
        }
        return end > time
    }

    /// What no copy keeps by itself.
    var attributes: HeaderFields? { kept { Self.attributes.contains($0) } }

    /// What must be sent again besides for a copy with replaced metadata; `nil` when S3 did not show all of it.
    var metadata: HeaderFields? {
        guard fields["x-amz-missing-meta"] == nil else { return nil }
        return kept { Self.metadata.contains($0) || $0.hasPrefix("x-amz-meta-") }
    }

    /// - Returns: `nil` if one of them is not as it was stored.
    private func kept(where isKept: (String) -> Bool) -> HeaderFields? {
        var kept: HeaderFields = [:]
        for field in fields {
            let name = field.name.lowercased()
            guard isKept(name) else { continue }
            // What was not UTF-8 has been replaced on its way to us; sending that would spoil it.
            guard !field.value.unicodeScalars.contains("\u{FFFD}") else { return nil }
            kept.add(name, field.value)
        }
        return kept
    }

    private static let metadata: Set<String> = [
        "cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires",
    ]

    private static let attributes: Set<String> = [
        "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id",
        "x-amz-server-side-encryption-bucket-key-enabled", "x-amz-website-redirect-location",
    ]
}

/// What `x-amz-expiration` says: when a lifecycle rule will take an object.
///
/// Such as `expiry-date="Fri, 21 Dec 2012 00:00:00 GMT", rule-id="Rule%20for%20testfile.txt"`.
enum ObjectExpiration {
    /// - Returns: `nil` when no rule is for the object, or the store does not tell.
    static func date(_ fields: HeaderFields) -> Date? {
        let name = "expiry-date=\""
        // Always first; a date is 29 characters long.
        guard let text = fields["x-amz-expiration"], text.hasPrefix(name) else { return nil }
        return Timestamp(http: String(decoding: text.utf8.dropFirst(name.utf8.count).prefix(29), as: UTF8.self))?.date
    }
}

extension StoredObject {
    /// When the bucket's lifecycle rule will remove it, where S3 tells.
    package var expiration: Date? { ObjectExpiration.date(fields) }
}

/// Decimal numbers of a store's response, within what S3 allows: digits alone, no sign, nothing that arithmetic on it could
/// overflow.
///
/// Source: Amazon S3 User Guide, "Multipart upload limits".
enum StoredNumber {
    static let maximumParts = 10_000
    /// Of an object, in bytes: 48.8 TiB, as many parts of 5 GiB as there may be.
    static let maximumObjectBytes = maximumParts * (5 << 30)

    /// - Returns: `nil` for anything but a size in bytes that an object may have.
    static func byteCount(_ text: String) -> Int? { number(text, in: 0...maximumObjectBytes) }

    static func partNumber(_ text: String) -> Int? { number(text, in: 1...maximumParts) }

    static func number(_ text: String, in range: ClosedRange<Int>) -> Int? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy(isDigit), let number = Int(text) else {
            return nil
        }
        return range.contains(number) ? number : nil
    }
}

/// Which bytes of an object are requested.
package struct ObjectRange: Sendable, Equatable {
    package let first: Int64
    /// `nil` for all from ``first`` on.
    package let last: Int64?

    package init(first: Int64, last: Int64? = nil) {
        self.first = first
        self.last = last
    }

    /// RFC 9110 §14.1.2.
    var field: String { "bytes=\(first)-\(last.map { String($0) } ?? "")" }
}

/// Bytes of an object, and what it is.
package struct StoredRange: Sendable, Equatable {
    package let object: StoredObject
    package let first: Int64
    /// Of the whole object.
    package let objectSize: Int64
    /// Empty when they went elsewhere.
    package let body: [UInt8]

    /// - Returns: `nil` when the response has other bytes than were requested, or does not say which.
    init?(_ object: StoredObject, _ response: UpstreamResponse, asked: ObjectRange?) {
        self.object = object
        body = response.body
        guard response.status == 206 else {
            // All of it, whatever was requested.
            guard (asked?.first ?? 0) == 0, let size = object.byteCount else { return nil }
            first = 0
            objectSize = Int64(size)
            return
        }
        // RFC 9110 §14.4: `bytes 0-499/1234`.
        guard let asked, let text = response.fields["content-range"], text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(whereSeparator: { $0 == "-" || $0 == "/" })
            .map { StoredNumber.byteCount(String($0)).map { Int64($0) } }
        guard parts.count == 3, let first = parts[0], let last = parts[1], let size = parts[2], first == asked.first,
            last >= first, last < size, last == min(asked.last ?? .max, size - 1)
        else { return nil }
        self.first = first
        objectSize = size
    }
}
