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
                guard let photos = try await removedPhotos(in: listing) else { continue }
                return Set(candidates.filter { photos.contains($0.sha256 ?? $0.md5) }.map(\.id))
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

    /// What documents say was removed, and none names.
    ///
    /// - Returns: `nil` when a document was replaced since the listing.
    private func removedPhotos(in listing: DeviceListing) async throws -> Set<[UInt8]>? {
        var removed: Set<[UInt8]> = []
        var named: Set<[UInt8]> = []
        for snapshots in listing.snapshots.values {
            var namedByDevice: Set<[UInt8]> = []
            for snapshot in snapshots {
                guard snapshot.byteCount <= SharedDocumentRules.maximumBytes else {
                    throw SnapshotDocument.tooLarge(snapshot.name)
                }
                guard let document = try await read(snapshot.name, SnapshotDocument.self) else { return nil }
                namedByDevice.subtract(document.removed)
                removed.formUnion(document.removed)
                namedByDevice.formUnion(document.entries.map(\.photo))
            }
            named.formUnion(namedByDevice)
        }
        return removed.subtracting(named)
    }
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
