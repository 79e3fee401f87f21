import Foundation

/// What ``PhotoLibrarySource`` needs of a library.
protocol PhotoLibraryReader: Sendable {
    /// - Throws: ``CloakroomError/Code/unreadableFile`` while the library is not available.
    func access() async throws -> PhotoLibraryAccess
    /// For the changes from now on.
    func token() async throws -> Data
    /// - Returns: `nil` when that is not known any more.
    func changes(since token: Data) async throws -> LibraryChanges?
    func allAssets() async throws -> [String]
    /// - Returns: `nil` when there is none any more, and when the library cannot be read now: fetches of PhotoKit have no errors.
    func asset(_ id: String) async throws -> LibraryAsset?
    /// Writes a file of an asset, downloading it when it is only in iCloud.
    func write(_ kind: LibraryAsset.Kind, of id: String, to file: URL) async throws
}

enum PhotoLibraryAccess: String, Sendable, Codable {
    case all
    /// What the user has selected.
    case limited
    case none
}

/// Identifiers of assets that were added or changed, and of those that were deleted.
struct LibraryChanges: Sendable, Equatable {
    var changed: Set<String> = []
    var deleted: Set<String> = []

    /// Adds a change that came after these. What was changed stays among them: it may have been deleted, and recovered again.
    mutating func add(_ later: LibraryChanges) {
        changed.formUnion(later.changed)
        deleted.formUnion(later.deleted)
        deleted.subtract(later.changed)
    }
}

extension CloakroomError {
    static let unreadableLibrary = CloakroomError(.unreadableFile, "the photo library cannot be read now")
}
