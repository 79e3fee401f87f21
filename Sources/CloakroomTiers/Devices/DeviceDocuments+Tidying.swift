import CloakroomKit
import CloakroomSQLite
import Foundation

/// How many documents a device has, and how large they are: what is written stays below twice what changed.
extension DeviceDocuments {
    /// So many small documents are merged, each once.
    static let mergedDocuments = 64
    /// Above so many they are merged even where that writes more than twice what changed.
    static let maximumSmallDocuments = 512
    /// Fewer documents are not written anew, whatever they hold.
    private static let fewDocuments = 8
    /// How long a document that was deleted is remembered: an upload of it may still arrive.
    private static let remembered: TimeInterval = 7 * 86_400

    /// Says which documents retire: those that name nothing any more, and all of them when less than half of the bytes
    /// is of use, or else the oldest small ones when there are 64.
    ///
    /// - Returns: whether there are any, also of an earlier plan that was not done.
    func planRewriting() throws(CloakroomError) -> Bool {
        let isPlanned = try catalog.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM segment WHERE is_retiring") { _ in true } ?? false
        }
        if isPlanned { return true }
        let segments = try catalog.perform { database throws(SQLiteError) in try database.segments() }
        guard var plan = try retiring(segments) else { return false }
        if let last = Self.lastToStay(segments, plan) { plan.removeAll { $0 == last } }
        guard !plan.isEmpty else { return false }
        try catalog.transaction { database throws(SQLiteError) in
            for sequence in plan {
                try database.run("UPDATE segment SET is_retiring = 1 WHERE sequence = ?", [.integer(sequence)])
            }
        }
        return true
    }

    /// Where nothing would be written in the place of all documents the last one stays, so that this device has one.
    private static func lastToStay(_ segments: [SnapshotSegment], _ plan: [Int64]) -> Int64? {
        let confirmed = segments.filter(\.isConfirmed)
        guard segments.allSatisfy({ $0.photoCount == 0 }), Set(plan).isSuperset(of: confirmed.map(\.sequence)) else {
            return nil
        }
        return confirmed.last?.sequence
    }

    private func retiring(_ segments: [SnapshotSegment]) throws(CloakroomError) -> [Int64]? {
        let (changed, written) = try catalog.perform { database throws(SQLiteError) in
            (try database.number(.changedBytes), try database.number(.writtenBytes))
        }
        let published = segments.reduce(0) { $0 + $1.byteCount }
        let live = segments.reduce(0) { $0 + $1.liveBytes }
        if segments.count >= Self.fewDocuments, live * 2 < published {
            // While there is no room in the budget for it, small ones are not merged either: it would never come.
            if written + live <= 2 * changed { return segments.map(\.sequence) }
        } else {
            let small = segments.filter { !$0.isMerged && !$0.isUseless }
            let oldest = small.prefix(Self.mergedDocuments)
            let cost = oldest.reduce(0) { $0 + $1.liveBytes }
            if oldest.count == Self.mergedDocuments, written + cost <= 2 * changed {
                return oldest.map(\.sequence) + segments.filter(\.isUseless).map(\.sequence)
            }
        }
        let small = segments.filter { !$0.isMerged }
        if small.count > Self.maximumSmallDocuments { return small.map(\.sequence) }
        return segments.filter(\.isUseless).map(\.sequence)
    }

    /// After all that the retiring documents name is in others.
    ///
    /// Removals that only they say go with them: documents are deleted in the order of their sequences, so what names
    /// the photo is deleted before what says that it is gone.
    func retire() throws(CloakroomError) {
        try catalog.transaction { database throws(SQLiteError) in
            let inRetiring = "segment IN (SELECT sequence FROM segment WHERE is_retiring)"
            // A change that no trigger saw would leave one; then the next run does it.
            if try database.first("SELECT 1 FROM photo WHERE \(inRetiring)", read: { _ in true }) != nil { return }
            try database.run("DELETE FROM removal WHERE \(inRetiring)")
            let sequences = try database.rows("SELECT sequence FROM segment WHERE is_retiring") { row in row.integer(0)
            }
            for sequence in sequences {
                try database.markObsolete(DeviceDocumentName.snapshot(device, sequence: sequence).text)
            }
            try database.run("DELETE FROM segment WHERE is_retiring")
        }
    }

    /// Deletes, earliest first, what newer documents have replaced: snapshots only after all of these are there.
    func deleteObsoleteDocuments(onlyIntents: Bool = false) async throws {
        let now = clock()
        let names = try catalog.perform { database throws(SQLiteError) in
            try database.rows("SELECT name FROM obsolete_document WHERE deleted_at IS NULL ORDER BY name") { row in
                row.text(0)
            }
        }
        for name in names where !onlyIntents || name.hasPrefix("intent-") {
            try await tier.deleteDocument(named: name)
            try catalog.perform { database throws(SQLiteError) in
                try database.run(
                    "UPDATE obsolete_document SET deleted_at = ? WHERE name = ?",
                    [.integer(now.milliseconds), .text(name)])
            }
        }
        guard !names.isEmpty else { return }
        try catalog.perform { database throws(SQLiteError) in
            try database.run(
                "DELETE FROM obsolete_document WHERE deleted_at < ?",
                [.integer(now.addingTimeInterval(-Self.remembered).milliseconds)])
        }
    }
}

/// One document of this device's snapshot.
struct SnapshotSegment: Sendable {
    var sequence: Int64
    var byteCount: Int64
    var entryCount: Int64
    /// Rows, and removals, for which it is the last document that says something of them.
    var photoCount: Int64
    var removalCount: Int64
    var isMerged: Bool
    /// The store has said that it has it.
    var isConfirmed: Bool

    var liveBytes: Int64 { entryCount > 0 ? byteCount * photoCount / entryCount : 0 }
    var isUseless: Bool { photoCount == 0 && removalCount == 0 }
}

extension SQLiteDatabase {
    /// In the order of their sequences.
    func segments() throws(SQLiteError) -> [SnapshotSegment] {
        try rows(
            """
            SELECT sequence, byte_count, entry_count, (SELECT count(*) FROM photo WHERE photo.segment = sequence),
                ifnull(removals.count, 0), is_merged, is_confirmed
            FROM segment LEFT JOIN
                (SELECT segment AS said_by, count(*) AS count FROM removal GROUP BY segment) AS removals ON said_by = sequence
            ORDER BY sequence
            """
        ) { row in
            SnapshotSegment(
                sequence: row.integer(0), byteCount: row.integer(1), entryCount: row.integer(2),
                photoCount: row.integer(3), removalCount: row.integer(4), isMerged: row.integer(5) != 0,
                isConfirmed: row.integer(6) != 0)
        }
    }
}
