import CloakroomKit
import CloakroomSQLite
import Foundation

/// Photos that were removed elsewhere before this device had named them.
///
/// A device that is made anew takes photos over from the snapshots of others, and names them at its first run. Until then
/// another device deletes rightly what its user removes there: such a photo is no loss.
extension DeviceDocuments {
    /// Which photos that are gone from the tier went in that way; the others are lost.
    ///
    /// It has to be shown: another device's documents say that the photo was removed, and no device's name it. A device
    /// that has published anything, or had the photo on it, relied on the photo.
    ///
    /// - Returns: the ids of their rows. None where a document cannot be read.
    func removedBeforeNamed(_ rows: [PhotoRow]) async throws -> Set<Int64> {
        let candidates = rows.filter { row in
            row.state == .cold && row.segment == nil && (row.verifiedAt?.milliseconds ?? 0) == 0
        }
        guard !candidates.isEmpty, try !hasPublished() else { return [] }
        for _ in 0..<Self.maximumListings {
            let (listing, _) = try await list()
            do {
                // What a device names whose documents are gone is not known.
                guard try vanishedDevices(in: listing).isEmpty else { return [] }
                guard let photos = try await photos(in: listing) else { continue }
                return Set(candidates.filter(photos.isRemoved).map(\.id))
            } catch let error as CloakroomError {
                guard error.code == .storeFailed else { throw error }
                return []
            }
        }
        return []
    }

    private func hasPublished() throws(CloakroomError) -> Bool {
        try catalog.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM segment") { _ in true } ?? false
        }
    }

    /// - Returns: `nil` when a document was replaced since the listing.
    func photos(in listing: DeviceListing) async throws -> SharedPhotos? {
        var photos = SharedPhotos()
        for snapshots in listing.snapshots.values {
            // By what the entries are of, as a later one of the same photo counts.
            var named: [[UInt8]: [UInt8]] = [:]
            for snapshot in snapshots {
                guard snapshot.byteCount <= SharedDocumentRules.maximumBytes else {
                    throw SnapshotDocument.tooLarge(snapshot.name)
                }
                guard let document = try await read(snapshot.name, SnapshotDocument.self) else { return nil }
                for photo in document.removed { named[photo] = nil }
                for entry in document.entries { named[entry.photo] = entry.md5 }
                photos.removed.formUnion(document.removed)
            }
            photos.named.formUnion(named.values)
        }
        return photos
    }
}

/// What the documents of all devices say.
struct SharedPhotos {
    /// The SHA-256 of each, or its MD5 where the device knew no SHA-256: also of one whose SHA-256 it learned then.
    var removed: Set<[UInt8]> = []
    /// The MD5 of each, which is its name in the tier: one device may know its SHA-256, and another one not.
    var named: Set<[UInt8]> = []

    func isRemoved(_ row: PhotoRow) -> Bool { removed.contains(row.sha256 ?? row.md5) && !named.contains(row.md5) }
}

extension Catalog {
    /// Removes the records of photos that are nowhere any more, with their names and thumbnails.
    func forget(_ rows: [PhotoRow]) throws(CloakroomError) {
        guard !rows.isEmpty else { return }
        try transaction { database throws(SQLiteError) in
            // A photo that was added meanwhile is on this device.
            for row in rows where try Self.photo(row.id, in: database) == row { try Self.forget(row.id, in: database) }
        }
    }

    static func forget(_ id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.run("DELETE FROM photo_name WHERE photo = ?", [.integer(id)])
        try database.run("DELETE FROM thumbnail WHERE photo = ?", [.integer(id)])
        try database.run("DELETE FROM photo WHERE id = ?", [.integer(id)])
    }
}
