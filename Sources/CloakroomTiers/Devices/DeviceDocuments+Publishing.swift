import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

extension DeviceDocuments {
    /// Uploads what changed since the last snapshot; without a change there is no request.
    ///
    /// A kill between any two steps loses nothing. A document's sequence is reserved before the upload and never used
    /// again, so that documents do not change under a name. Rows name it after the upload, and only those that are still
    /// as it says. Documents are deleted after all that they name is in others.
    func publish() async throws {
        try await gate.through { try await publishAll() }
    }

    /// ``publish()`` for callers that are through the gate.
    func publishAll() async throws {
        let identity = try await tier.identity
        try beginInTier(identity)
        try await publishPages(of: identity, isRewriting: false)
        let isRewriting = try planRewriting()
        if isRewriting { try await publishPages(of: identity, isRewriting: true) }
        try await publishPresence()
        if isRewriting { try retire() }
        try await deleteObsoleteDocuments()
    }

    /// This device has shared something, and has no document that stays: other devices take one without documents for
    /// one that was robbed of them, and delete nothing any more.
    static let isAbsentSQL = """
        EXISTS (SELECT 1 FROM setting WHERE name = 'snapshot_sequence')
        AND NOT EXISTS (SELECT 1 FROM segment WHERE is_confirmed AND NOT is_retiring)
        """

    /// Uploads an empty document where this device would have none.
    private func publishPresence() async throws {
        guard try catalog.count("SELECT \(Self.isAbsentSQL)") != 0 else { return }
        try await publish(SnapshotPage(), isRewriting: false)
    }

    /// Documents are in one tier. In another one this is another device, of which nothing is published yet.
    private func beginInTier(_ identity: TierIdentity) throws(CloakroomError) {
        let known = try catalog.setting(.snapshotTier)
        guard known != identity.description else { return }
        if known != nil { try changeDevice(deletingDocuments: false) }
        try catalog.set(.snapshotTier, to: identity.description)
    }

    /// Uploads all rows that no snapshot names as they are, and the removals; with `isRewriting` also what only retiring
    /// documents say.
    ///
    /// In that case, too, rows that changed meanwhile are included: what names them may be one of the retiring.
    ///
    /// Rows of another tier are another account's photos, and none of this one's business.
    private func publishPages(of tier: TierIdentity, isRewriting: Bool) async throws {
        var last: Int64 = 0
        var hasMoreRows = true
        while true {
            let page = try catalog.perform { database throws(SQLiteError) in
                var page = SnapshotPage()
                if hasMoreRows {
                    page.rows = try database.unpublishedRows(after: last, of: tier, isRewriting: isRewriting)
                }
                let room = SnapshotDocument.maximumEntries - page.rows.count
                page.removed = try database.unpublishedRemovals(limit: room, isRewriting: isRewriting)
                return page
            }
            hasMoreRows = !page.rows.isEmpty
            last = page.rows.last?.id ?? last
            guard !page.isEmpty else { return }
            try await publish(page, isRewriting: isRewriting)
        }
    }

    private func publish(_ page: SnapshotPage, isRewriting: Bool) async throws {
        let bytes = try page.document.encoded()
        let count = page.rows.count + page.removed.count
        let isMerged = isRewriting || count >= SnapshotDocument.maximumEntries / 2
        let sequence = try reserveSequence(byteCount: bytes.count, entryCount: count, isMerged: isMerged)
        try await tier.putDocument(bytes, named: DeviceDocumentName.snapshot(device, sequence: sequence).text)
        try catalog.transaction { database throws(SQLiteError) in
            for row in page.rows where try database.entry(ofPhoto: row.id) == row.entry {
                try database.run("UPDATE photo SET segment = ? WHERE id = ?", [.integer(sequence), .integer(row.id)])
            }
            for photo in page.removed {
                try database.run("UPDATE removal SET segment = ? WHERE photo = ?", [.integer(sequence), .blob(photo)])
            }
            try database.run("UPDATE segment SET is_confirmed = 1 WHERE sequence = ?", [.integer(sequence)])
            try database.add(Int64(bytes.count), to: .writtenBytes)
            if !isRewriting { try database.add(Int64(bytes.count), to: .changedBytes) }
        }
    }

    /// Milliseconds since 1970, or some more than the last: two copies of one device's catalog, as a phone's backup
    /// makes them, do not write to one name.
    private func reserveSequence(byteCount: Int, entryCount: Int, isMerged: Bool) throws(CloakroomError) -> Int64 {
        let now = clock().timeIntervalSince1970 * 1000
        let time = Int64(min(max(now.isFinite ? now : 0, 1), 100_000_000_000_000))
        return try catalog.transaction { database throws(SQLiteError) in
            let next = try database.number(.snapshotSequence) + .random(in: 1...1_000)
            let sequence = min(max(time, next), DeviceDocumentName.maximumSequence)
            try database.set(.snapshotSequence, to: "\(sequence)")
            // Before the upload: other devices may see the document before its end, or in spite of it.
            try database.markAllShared()
            try database.run(
                "INSERT INTO segment (sequence, byte_count, entry_count, is_merged) VALUES (?, ?, ?, ?)",
                [
                    .integer(sequence), .integer(Int64(byteCount)), .integer(Int64(entryCount)),
                    .integer(isMerged ? 1 : 0),
                ])
            return sequence
        }
    }

    /// The name of the first of this device's documents; `nil` when there is none.
    func oldestSnapshot() throws(CloakroomError) -> String? {
        try catalog.perform { database throws(SQLiteError) in
            try database.first("SELECT min(sequence) FROM segment WHERE is_confirmed HAVING count(*) > 0") { row in
                DeviceDocumentName.snapshot(device, sequence: row.integer(0)).text
            }
        }
    }

    /// The documents of this device in the catalog, and whether the store has surely had each.
    func knownDocuments() throws(CloakroomError) -> [String: (sequence: Int64, isConfirmed: Bool)] {
        try catalog.perform { database throws(SQLiteError) in
            var known: [String: (sequence: Int64, isConfirmed: Bool)] = [:]
            try database.forEach("SELECT sequence, is_confirmed FROM segment") { row in
                let name = DeviceDocumentName.snapshot(device, sequence: row.integer(0)).text
                known[name] = (row.integer(0), row.integer(1) != 0)
                return true
            }
            return known
        }
    }
}

extension SQLiteDatabase {
    /// Removals that no document says; when documents are written anew, also those that only retiring ones say and that
    /// are still needed, because an earlier document may name the photo.
    func unpublishedRemovals(limit: Int, isRewriting: Bool) throws(SQLiteError) -> [[UInt8]] {
        guard limit > 0 else { return [] }
        let needed = """
            segment IN (SELECT sequence FROM segment WHERE is_retiring)
            AND EXISTS (SELECT 1 FROM segment AS old WHERE NOT old.is_retiring AND old.sequence < removal.segment)
            """
        return try rows(
            "SELECT photo FROM removal WHERE segment IS NULL\(isRewriting ? " OR (\(needed))" : "") LIMIT ?",
            [.integer(Int64(limit))]
        ) { row in row.blob(0) }
    }
}
