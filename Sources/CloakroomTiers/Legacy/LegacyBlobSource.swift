public import CloakroomKit
public import Foundation

/// Where an app had its photos before: what ``TieredPhotoStore/migrate(from:run:batchBytes:progress:)`` empties.
public protocol LegacyBlobSource: Sendable {
    /// How many photos are left.
    func count() async throws(CloakroomError) -> Int

    /// Photos in an order that does not change, without their bytes.
    ///
    /// - Parameters:
    ///   - position: of the last one of the page before; `nil` for the first page.
    ///   - limit: at most so many; fewer only at the end.
    func blobs(after position: Int64?, limit: Int) async throws(CloakroomError) -> [LegacyBlob]

    /// Writes the bytes of one photo into a new file for its user alone.
    ///
    /// - Returns: their SHA-256.
    /// - Throws: ``CloakroomError/Code/noSuchPhoto`` when it is not there any more, ``CloakroomError/Code/diskFull``.
    func write(_ blob: LegacyBlob, to file: URL) async throws(CloakroomError) -> [UInt8]

    /// Removes photos that were imported; one whose bytes are others now than those that were written stays.
    func delete(_ blobs: [(blob: LegacyBlob, sha256: [UInt8])]) async throws(CloakroomError)

    /// Gives the room of what was removed back to the system, as far as it has not been.
    func compact() async throws(CloakroomError) -> LegacyCompaction
}

/// One photo of a ``LegacyBlobSource``.
public struct LegacyBlob: Sendable, Equatable {
    /// In the source's order.
    public var position: Int64
    /// The app's; `nil` when the source has none that is a text.
    public var name: String?
    /// `nil` when the source does not tell, or not in a way that can be read.
    public var createdAt: Date?
    /// `nil` when there are no bytes.
    public var byteCount: Int64?

    public init(position: Int64, name: String?, createdAt: Date?, byteCount: Int64?) {
        self.position = position
        self.name = name
        self.createdAt = createdAt
        self.byteCount = byteCount
    }
}

/// What came of giving room back.
public enum LegacyCompaction: Sendable, Equatable {
    case done
    /// Later: there is no room for it now, or another connection reads. Or it is the app's to do (`VACUUM`), because the database
    /// has tables without an INTEGER PRIMARY KEY, whose rows get other numbers with it.
    ///
    /// - Parameter neededBytes: free ones that it takes; 0 when that is not the reason.
    case pending(neededBytes: Int64)
}
