public import Foundation

/// The metadata of an object.
public struct ObjectInfo: Sendable, Equatable {
    public let key: String
    /// -1 in a listing that gives a size that no object of S3 has.
    public let byteCount: Int64
    /// As S3 writes it, with its quotation marks: another one for other bytes.
    public let entityTag: String
    public let lastModified: Date?
    /// `nil` in listings, which do not have it.
    public let contentType: String?
    /// What was given to `put`; names in lower case. Empty in listings, which do not have it.
    public let metadata: [String: String]
    /// In an archive tier: it has to be restored before it can be read.
    public let isArchived: Bool

    public init(
        key: String, byteCount: Int64, entityTag: String, lastModified: Date? = nil, contentType: String? = nil,
        metadata: [String: String] = [:], isArchived: Bool = false
    ) {
        self.key = key
        self.byteCount = byteCount
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.contentType = contentType
        self.metadata = metadata
        self.isArchived = isArchived
    }
}

/// What must be true of a key for a `put` to store anything.
///
/// Source: S3 User Guide, "Conditional writes".
public enum ObjectCondition: Sendable, Equatable {
    case none
    /// There is no such object yet.
    case isNew
    /// There is this one still.
    case isStill(entityTag: String)
}
