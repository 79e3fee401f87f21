import CloakroomKit
import CloakroomSQLite
import Foundation

extension Catalog {
    func photo(_ id: Int64) throws(CloakroomError) -> PhotoRow? {
        try perform { database throws(SQLiteError) in try Self.photo(id, in: database) }
    }

    static func photo(_ id: Int64, in database: SQLiteDatabase) throws(SQLiteError) -> PhotoRow? {
        try database.first("SELECT \(PhotoRow.columns) FROM photo WHERE id = ?", [.integer(id)]) { PhotoRow($0) }
    }

    func photo(sha256: [UInt8]) throws(CloakroomError) -> PhotoRow? {
        try perform { database throws(SQLiteError) in
            try database.first("SELECT \(PhotoRow.columns) FROM photo WHERE sha256 = ?", [.blob(sha256)]) {
                PhotoRow($0)
            }
        }
    }

    /// A photo that only a listing told of.
    func unreadPhoto(md5: [UInt8], byteCount: Int64) throws(CloakroomError) -> PhotoRow? {
        try perform { database throws(SQLiteError) in
            try database.first(
                "SELECT \(PhotoRow.columns) FROM photo WHERE md5 = ? AND byte_count = ? AND sha256 IS NULL",
                [.blob(md5), .integer(byteCount)]
            ) { PhotoRow($0) }
        }
    }

    func photo(named name: String) throws(CloakroomError) -> Int64? {
        try perform { database throws(SQLiteError) in
            try database.first("SELECT photo FROM photo_name WHERE name = ?", [.text(name)]) { $0.integer(0) }
        }
    }

    func photos(_ ids: [Int64]) throws(CloakroomError) -> [PhotoRow] {
        try perform { database throws(SQLiteError) in
            var rows: [PhotoRow] = []
            rows.reserveCapacity(ids.count)
            for id in ids {
                if let row = try Self.photo(id, in: database) { rows.append(row) }
            }
            return rows
        }
    }

    /// Ids in the order of a query; eight bytes each, so there may be many.
    func ids(_ sql: String, _ values: [SQLiteValue] = []) throws(CloakroomError) -> [Int64] {
        try perform { database throws(SQLiteError) in try database.rows(sql, values) { $0.integer(0) } }
    }

    func count(_ sql: String, _ values: [SQLiteValue] = []) throws(CloakroomError) -> Int64 {
        try perform { database throws(SQLiteError) in try database.first(sql, values) { $0.integer(0) } ?? 0 }
    }

    /// - Returns: `nil` when there is none, or when none could be made.
    func thumbnail(_ id: Int64) throws(CloakroomError) -> [UInt8]? {
        let bytes = try perform { database throws(SQLiteError) in
            try database.first("SELECT bytes FROM thumbnail WHERE photo = ?", [.integer(id)]) { $0.blob(0) }
        }
        return bytes.flatMap { $0.isEmpty ? nil : $0 }
    }

    static func record(
        _ thumbnail: Thumbnail, of id: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        try database.run(
            "INSERT OR REPLACE INTO thumbnail (photo, width, height, bytes) VALUES (?, ?, ?, ?)",
            [
                .integer(id), SQLiteValue(thumbnail.width), SQLiteValue(thumbnail.height),
                .blob(Array(thumbnail.bytes)),
            ])
    }
}
