import CloakroomKit
import CloakroomSQLite
import Foundation

extension Catalog {
    /// Records a photo whose file is on the disk under its name.
    ///
    /// - Parameter known: its record, where there is one.
    /// - Returns: its id.
    func record(
        _ content: PhotoContent, format: String, known: PhotoRow?, name: String?, takenAt: Date, addedAt: Date,
        _ thumbnail: ThumbnailResult
    ) throws(CloakroomError) -> Int64 {
        try transaction { database throws(SQLiteError) in
            let id: Int64
            if let known {
                id = known.id
                try Self.markLocal(known, content, format: format, in: database)
            } else {
                try database.run(
                    """
                    INSERT INTO photo (sha256, md5, byte_count, format, taken_at, added_at, state)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                    [
                        .blob(content.sha256), .blob(content.md5), .integer(content.byteCount), .text(format),
                        .integer(takenAt.milliseconds), .integer(addedAt.milliseconds),
                        .integer(PhotoState.hot.rawValue),
                    ])
                id = try database.first("SELECT last_insert_rowid()") { $0.integer(0) } ?? 0
            }
            if let name {
                let added = try database.run(
                    "INSERT OR IGNORE INTO photo_name (name, photo) VALUES (?, ?)", [.text(name), .integer(id)])
                if added == 1 { try database.run("UPDATE photo SET segment = NULL WHERE id = ?", [.integer(id)]) }
            }
            try Self.record(thumbnail, of: id, in: database)
            try database.run(
                "DELETE FROM removed_file WHERE name = ?",
                [.text(PhotoRow.fileName(sha256: content.sha256, format: format))])
            return id
        }
    }
}
