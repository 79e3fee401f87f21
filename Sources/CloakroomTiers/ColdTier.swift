public import CloakroomKit
public import Foundation

/// Where photos are that are no longer on the device: S3 with vended credentials, or CloudKit.
///
/// Each function throws ``CloakroomError``. "Absent" is said only by the store's own explicit response: a failure, a
/// timeout, or a response that is not the store's own is an error, never an absence.
public protocol ColdTier: Sendable {
    /// Which store it is, and whose: what was proven in one says nothing of another.
    var identity: TierIdentity { get async throws }

    /// Whether photos can be stored now, and how much room there is, where the store says it.
    func availability() async -> TierAvailability

    /// Stores a photo under the key that follows from its digest, unless it is there.
    ///
    /// - Parameter file: with the photo's bytes; the caller has hashed it just now.
    /// - Throws: besides, ``CloakroomError/Code/photoCollision`` when another photo has that key.
    func put(_ file: URL, _ photo: PhotoDescriptor, progress: TransferProgress.Observer?) async throws

    /// Shows that the store has exactly these bytes now, and will keep them.
    ///
    /// What the store does not say of an object is read back and hashed, unless ``PhotoDescriptor/provenTag`` shows that
    /// it was before.
    ///
    /// - Parameter file: the photo's bytes on this device, where they are; saves reading back a multipart upload.
    /// - Returns: `nil` only when the object is surely absent.
    /// - Throws: besides, ``CloakroomError/Code/photoCollision`` for other bytes, ``CloakroomError/Code/archived``,
    ///   ``CloakroomError/Code/photoExpiring`` when the store is going to delete it.
    func verify(_ photo: PhotoDescriptor, file: URL?) async throws -> ColdProof?

    /// Reads a photo into a file, from where an earlier fetch to the same file stopped, and checks its bytes.
    ///
    /// They need not be on the disk when it returns: the caller syncs the file.
    ///
    /// - Throws: besides, ``CloakroomError/Code/noSuchObject`` when it is surely absent,
    ///   ``CloakroomError/Code/checksumMismatch``.
    func fetch(_ photo: PhotoDescriptor, to file: URL, progress: TransferProgress.Observer?) async throws

    /// Whether ``fetch(_:to:progress:)`` has hashed the bytes when it returns, with SHA-256 where that is known; otherwise
    /// the store reads the file once more.
    var hashesFetches: Bool { get }

    /// That there is none is no error.
    func delete(_ photo: PhotoDescriptor) async throws

    /// All photos of this user; it throws when the listing is not complete.
    func list() -> AsyncThrowingStream<ColdObject, any Error>

    /// Replaces the one that is there.
    ///
    /// - Parameter bytes: JPEG, at most ``Thumbnail/maximumBytes``.
    func putThumbnail(_ bytes: Data, of photo: PhotoDescriptor) async throws
    /// - Returns: `nil` only when it is surely absent.
    func thumbnail(of photo: PhotoDescriptor) async throws -> Data?
    /// That there is none is no error.
    func deleteThumbnail(of photo: PhotoDescriptor) async throws

    /// Shows that the store is not going to delete what belongs to photos: one thumbnail, one document, as samples of all.
    ///
    /// - Throws: besides, ``CloakroomError/Code/photoExpiring``, ``CloakroomError/Code/archived``. One that is absent is
    ///   no error.
    func checkStays(thumbnailOf photo: PhotoDescriptor?, document name: String?) async throws

    /// The small documents that the user's devices share: snapshots of catalogs and intents to delete.
    func documents() async throws -> DocumentListing
    /// - Parameter name: letters, digits, `.`, `_` and `-`, 1 to 200 of them, not beginning with a dot. Replaces what
    ///   has that name.
    func putDocument(_ bytes: Data, named name: String) async throws
    /// - Returns: `nil` only when it is surely absent.
    func document(named name: String) async throws -> Data?
    /// That there is none is no error.
    func deleteDocument(named name: String) async throws
}

extension ColdTier {
    public var hashesFetches: Bool { false }

    /// For stores without rules that delete.
    public func checkStays(thumbnailOf photo: PhotoDescriptor?, document name: String?) async throws {}
}

/// The name of a store and of the user whose photos it has.
public struct TierIdentity: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Such as `s3:https://s3.eu-central-1.amazonaws.com/photos.example.com/u_1`.
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Whether photos can be stored now.
public struct TierAvailability: Sendable, Equatable {
    /// Why not; `nil` when they can.
    public var failure: CloakroomError?
    /// In bytes; `nil` where the store does not say.
    public var quota: Quota?

    /// How much of the user's storage is used.
    public struct Quota: Sendable, Equatable {
        public var usedBytes: Int64
        public var totalBytes: Int64

        public init(usedBytes: Int64, totalBytes: Int64) {
            self.usedBytes = usedBytes
            self.totalBytes = totalBytes
        }
    }

    public init(failure: CloakroomError? = nil, quota: Quota? = nil) {
        self.failure = failure
        self.quota = quota
    }
}

/// What a tier needs to know of a photo.
public struct PhotoDescriptor: Sendable, Hashable {
    /// 32 bytes; `nil` when only a listing told of the photo.
    public var sha256: [UInt8]?
    /// 16 bytes: the photo's name in the store.
    public var md5: [UInt8]
    public var byteCount: Int64
    /// The usual extension of a file of these bytes, such as `jpg`; `dat` for what is not known.
    public var format: String
    /// The entity tag or change tag that the last proof was given for; `nil` when there was none.
    public var provenTag: String?

    public init(sha256: [UInt8]?, md5: [UInt8], byteCount: Int64, format: String, provenTag: String? = nil) {
        self.sha256 = sha256
        self.md5 = md5
        self.byteCount = byteCount
        self.format = format
        self.provenTag = provenTag
    }
}

/// That a store has the bytes of a photo.
public struct ColdProof: Sendable, Equatable {
    public var identity: TierIdentity
    /// The object's key or the record's name.
    public var key: String
    /// Another one for other bytes: the entity tag, with the version where the store has versions, or the change tag.
    public var tag: String
    /// When, by the store's clock; `nil` where the store does not say.
    public var date: Date?

    public init(identity: TierIdentity, key: String, tag: String, date: Date?) {
        self.identity = identity
        self.key = key
        self.tag = tag
        self.date = date
    }
}

/// One photo of a listing.
public struct ColdObject: Sendable, Equatable {
    public var key: String
    public var md5: [UInt8]
    public var byteCount: Int64
    public var isArchived: Bool

    public init(key: String, md5: [UInt8], byteCount: Int64, isArchived: Bool = false) {
        self.key = key
        self.md5 = md5
        self.byteCount = byteCount
        self.isArchived = isArchived
    }
}

/// The documents that there are at one moment.
public struct DocumentListing: Sendable, Equatable {
    /// One document, without its bytes.
    public struct Document: Sendable, Equatable {
        public var name: String
        public var byteCount: Int64
        /// When it was written, by the store's clock.
        public var modified: Date

        public init(name: String, byteCount: Int64, modified: Date) {
            self.name = name
            self.byteCount = byteCount
            self.modified = modified
        }
    }

    public var documents: [Document]
    /// When it was made, by the store's clock; `nil` where the store does not say.
    public var date: Date?

    public init(documents: [Document], date: Date?) {
        self.documents = documents
        self.date = date
    }
}
