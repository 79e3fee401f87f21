import CloakroomKit
import CloakroomSQLite
import Foundation

extension Catalog {
    func timeline(before cursor: TimelineCursor?, limit: Int) throws(CloakroomError) -> [TimelineItem] {
        // Equal dates are in the order of the ids, as the index has them.
        let condition = cursor == nil ? "" : "WHERE taken_at <= ?1 AND (taken_at < ?1 OR id > ?2)"
        let values = cursor.map { [SQLiteValue.integer($0.takenAt), .integer($0.id)] } ?? []
        let sql = """
            SELECT id, taken_at, state, pinned, byte_count, bytes
            FROM photo LEFT JOIN thumbnail ON thumbnail.photo = photo.id \(condition)
            ORDER BY taken_at DESC, id LIMIT \(max(limit, 0))
            """
        return try perform { database throws(SQLiteError) in
            try database.rows(sql, values) { row in
                let bytes = row.blob(5)
                return TimelineItem(
                    id: PhotoID(rawValue: row.integer(0)), takenAt: Date(milliseconds: row.integer(1)),
                    place: PhotoPlace(PhotoState(rawValue: row.integer(2)) ?? .hot), isPinned: row.integer(3) != 0,
                    byteCount: row.integer(4), thumbnail: bytes.isEmpty ? nil : Data(bytes),
                    cursor: TimelineCursor(takenAt: row.integer(1), id: row.integer(0)))
            }
        }
    }
}

extension PhotoPlace {
    init(_ state: PhotoState) {
        switch state {
        case .hot, .uploading: self = .device
        case .both, .evicting: self = .both
        case .cold: self = .cold
        case .missing: self = .missing
        }
    }
}
