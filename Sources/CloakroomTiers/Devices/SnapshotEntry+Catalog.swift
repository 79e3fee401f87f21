import CloakroomSQLite

/// A photo's row and how it was published.
struct PublishedRow: Sendable, Equatable {
    var id: Int64
    var entry: SnapshotEntry
}

/// What the next document is to say.
struct SnapshotPage: Sendable {
    var rows: [PublishedRow] = []
    var removed: [[UInt8]] = []

    var isEmpty: Bool { rows.isEmpty && removed.isEmpty }
    var document: SnapshotDocument { SnapshotDocument(entries: rows.map(\.entry), removed: removed) }
}

extension SQLiteDatabase {
    /// The next rows that no snapshot names as they are.
    ///
    /// - Parameters:
    ///   - id: of the last row of the page before.
    ///   - isRewriting: also those that only retiring documents name.
    func unpublishedRows(
        after id: Int64, of tier: TierIdentity, isRewriting: Bool
    ) throws(SQLiteError) -> [PublishedRow] {
        // With a plus no index is used: in the order of the table it is read once, whatever has to be written anew.
        let condition =
            isRewriting
            ? "(+segment IS NULL OR +segment IN (SELECT sequence FROM segment WHERE is_retiring))" : "segment IS NULL"
        let ids = try rows(
            "SELECT id FROM photo WHERE \(condition) AND id > ? AND (tier IS NULL OR tier = ?) ORDER BY id LIMIT ?",
            [.integer(id), .text(tier.description), .integer(Int64(SnapshotDocument.maximumEntries))]
        ) { row in row.integer(0) }
        var found: [PublishedRow] = []
        var bytes = 0
        for id in ids where bytes < SnapshotDocument.preferredBytes {
            guard let entry = try entry(ofPhoto: id) else { continue }
            bytes += entry.estimatedBytes
            found.append(PublishedRow(id: id, entry: entry))
        }
        return found
    }

    /// - Returns: `nil` when there is no such row.
    func entry(ofPhoto id: Int64) throws(SQLiteError) -> SnapshotEntry? {
        let found = try first("SELECT \(SnapshotEntry.columns) FROM photo WHERE id = ?", [.integer(id)]) {
            SnapshotEntry($0)
        }
        guard var entry = found else { return nil }
        var bytes = 0
        try forEach("SELECT name FROM photo_name WHERE photo = ? ORDER BY name", [.integer(id)]) { row in
            let name = row.text(0)
            bytes += name.utf8.count
            guard bytes <= SnapshotEntry.maximumNameBytes else { return false }
            entry.names.append(name)
            return true
        }
        return entry
    }
}

extension SnapshotEntry {
    /// Of the tables `photo` and `named_photo`.
    static let columns = "sha256, md5, byte_count, format, taken_at, added_at, pinned"

    /// A row of ``columns``, without its names.
    init(_ row: borrowing SQLiteRow) {
        self.init(
            names: [], sha256: row.isNull(0) ? nil : row.blob(0), md5: row.blob(1), byteCount: row.integer(2),
            format: row.text(3), takenAt: row.integer(4), addedAt: row.integer(5), isPinned: row.integer(6) != 0)
    }

    /// Of its JSON.
    var estimatedBytes: Int {
        names.reduce(240) { sum, name in
            name.utf8.reduce(sum + 3) {
                $0 + ($1 < 0x20 ? 6 : $1 == UInt8(ascii: "\"") || $1 == UInt8(ascii: "\\") ? 2 : 1)
            }
        }
    }
}
