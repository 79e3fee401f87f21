import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

/// A photo as the catalog has it.
struct PhotoRow: Sendable, Equatable {
    var id: Int64
    var sha256: [UInt8]?
    var md5: [UInt8]
    var byteCount: Int64
    var format: String
    var takenAt: Date
    var addedAt: Date
    var isPinned: Bool
    var state: PhotoState
    var tier: TierIdentity?
    var remoteKey: String?
    var entityTag: String?
    var verifiedAt: Date?
    var segment: Int64?

    var descriptor: PhotoDescriptor {
        PhotoDescriptor(sha256: sha256, md5: md5, byteCount: byteCount, format: format, provenTag: entityTag)
    }

    /// The name of its file: by its content, so that an orphan can be adopted.
    var fileName: String? { sha256.map { Self.fileName(sha256: $0, format: format) } }

    static func fileName(sha256: [UInt8], format: String) -> String { "\(sha256.hexadecimal).\(format)" }

    static let columns = """
        id, sha256, md5, byte_count, format, taken_at, added_at, pinned, state, tier, remote_key, entity_tag, \
        verified_at, segment
        """

    init(_ row: borrowing SQLiteRow) {
        id = row.integer(0)
        sha256 = row.isNull(1) ? nil : row.blob(1)
        md5 = row.blob(2)
        byteCount = row.integer(3)
        format = row.text(4)
        takenAt = Date(milliseconds: row.integer(5))
        addedAt = Date(milliseconds: row.integer(6))
        isPinned = row.integer(7) != 0
        state = PhotoState(rawValue: row.integer(8)) ?? .hot
        tier = row.textIfPresent(9).map { TierIdentity($0) }
        remoteKey = row.textIfPresent(10)
        entityTag = row.textIfPresent(11)
        verifiedAt = row.date(12)
        segment = row.isNull(13) ? nil : row.integer(13)
    }
}

extension SQLiteRow {
    borrowing func date(_ column: Int32) -> Date? { isNull(column) ? nil : Date(milliseconds: integer(column)) }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// Since 1970; of a date beyond all calendars the last or first one that there is a number for.
    var milliseconds: Int64 {
        let value = (timeIntervalSince1970 * 1000).rounded()
        return value.isNaN ? 0 : Int64(min(max(value, -9e15), 9e15))
    }
}
