import CloakroomCrypto

/// One version of an object, or a delete marker.
struct StoredVersion {
    enum Encryption: Equatable {
        case s3
        case kms(key: String, usesBucketKey: Bool)
        /// With the customer's key: only its MD5 is kept.
        case customer(keyMD5: String)
    }

    /// Object Lock; a copy does not take it along.
    struct Lock: Equatable {
        var mode: String?
        var until: String?
        var legalHold: String?
    }

    var versionID = "null"
    var isDeleteMarker = false
    var bytes: [UInt8] = []
    /// Instead of that of the bytes, for objects that would be too large to keep.
    var pretendedSize: Int?
    /// With its quotation marks.
    var entityTag = ""
    /// Seconds since 1970.
    var lastModified: Double
    /// When another version took its place.
    var becameNoncurrent: Double?
    /// `content-type` and the like.
    var systemMetadata: [S3Request.Pair] = []
    var userMetadata: [S3Request.Pair] = []
    var tags: [S3Request.Pair] = []
    var storageClass = "STANDARD"
    var encryption = Encryption.s3
    var websiteRedirect: String?
    var acl = "private"
    var lock: Lock?
    /// Base64 of SHA-256, where the upload had one.
    var checksum: String?
    var partCount: Int?
    /// An archived object of which a copy is there for a while.
    var isRestored = false
    /// How often a copy onto itself has really been made since it was first written.
    var selfCopies = 0

    init(lastModified: Double) { self.lastModified = lastModified }

    var size: Int { pretendedSize ?? bytes.count }

    var isArchived: Bool { ["GLACIER", "DEEP_ARCHIVE"].contains(storageClass) && !isRestored }

    /// Of a whole upload; encrypted by KMS or by the customer's key it is no MD5.
    mutating func seal(distinguishing number: UInt64) {
        let isPlain = encryption == .s3
        let source = isPlain ? bytes : bytes + Array(String(number).utf8)
        entityTag = "\"\(MD5.hash(source).hexadecimal)\""
    }

    static let systemNames = [
        "cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires",
    ]
}
