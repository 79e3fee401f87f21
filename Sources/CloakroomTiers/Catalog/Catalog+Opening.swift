import CloakroomKit
import CloakroomSQLite
import Foundation

extension Catalog {
    /// What opening a photo needs to know.
    struct Location {
        /// `nil` for one that was never read.
        var fileName: String?
        var byteCount: Int64
        var isLocal: Bool
        /// It can be fetched.
        var hasProof: Bool
    }

    func location(_ id: Int64) throws(CloakroomError) -> Location? {
        try perform { database throws(SQLiteError) in
            try database.first(
                "SELECT sha256, format, byte_count, state, tier IS NOT NULL FROM photo WHERE id = ?", [.integer(id)]
            ) { row in
                Location(
                    fileName: row.isNull(0) ? nil : PhotoRow.fileName(sha256: row.blob(0), format: row.text(1)),
                    byteCount: row.integer(2), isLocal: row.integer(3) <= PhotoState.evicting.rawValue,
                    hasProof: row.integer(4) != 0)
            }
        }
    }

    /// A photo whose file has come from the cold tier.
    static func arrive(
        _ row: PhotoRow, _ content: PhotoContent, format: String, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        // Local ones that were damaged keep their state. What was missing is proven by having come.
        let state: PhotoState = row.state.isLocal ? row.state : .both
        try database.run(
            """
            UPDATE photo SET sha256 = ?, format = ?, state = ?, retry_at = NULL,
                verified_at = coalesce(verified_at, 0),
                segment = CASE WHEN sha256 IS NULL THEN NULL ELSE segment END WHERE id = ?
            """,
            [.blob(content.sha256), .text(format), .integer(state.rawValue), .integer(row.id)])
        // One of the same bytes was removed, and its file is still to go: this is another one.
        try database.run(
            "DELETE FROM removed_file WHERE name = ?",
            [.text(PhotoRow.fileName(sha256: content.sha256, format: format))])
    }
}
