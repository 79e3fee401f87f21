import CloakroomKit
import CloakroomSQLite
import Foundation

/// What came of the deletions of one run.
struct DeletionOutcome {
    var deleted = 0
    /// The first one; the photo stays announced, as the request may have been done all the same.
    var failure: (any Error)?
}

extension DeviceDocuments {
    /// How long what was read for deletions counts: a process that was suspended reads again.
    private static let readingLifetime: TimeInterval = 1_800

    /// Deletes what was announced two days ago and no other device names; see ``advanceDeletions(_:)`` for the order.
    func deleteDue(_ survey: DeviceSurvey, of identity: TierIdentity) async throws -> DeletionOutcome {
        var outcome = DeletionOutcome()
        let isClockTrusted = try survey.isServerDate || isDeviceClockTrusted()
        guard isClockTrusted else { return outcome }
        let date = survey.isServerDate ? survey.date : nil
        guard try !due(ownIntents: survey.ownIntents, date: date, of: identity, limit: 1).isEmpty else {
            return outcome
        }
        var replacedListings = 0
        while outcome.failure == nil {
            let began = clock()
            let (listing, number) = try await list()
            try noteSilence(after: number, self.date(of: listing))
            if let vanished = try vanishedDevices(in: listing).first {
                outcome.failure = CloakroomError(
                    .unavailable,
                    "nothing is deleted: the snapshots of device \(vanished.rawValue) are gone; "
                        + "dismiss it if it is lost")
                return outcome
            }
            // The store that told its time at the survey has to tell it now.
            guard listing.dismissals[device] == nil, survey.isServerDate == (listing.date != nil) else {
                return outcome
            }
            let batch = try due(
                ownIntents: listing.ownIntents(of: device), date: listing.date, of: identity, limit: Self.batch)
            guard !batch.isEmpty else { return outcome }
            guard let named = try await named(among: Set(batch.map(\.md5)), in: listing) else {
                replacedListings += 1
                guard replacedListings < Self.maximumListings else {
                    throw CloakroomError(.unavailable, "the user's other devices replace their documents all the time")
                }
                continue
            }
            let count = try await delete(batch, named: named, readAt: began, outcome: &outcome)
            // Those that are left wait for something else.
            guard count > 0 else { return outcome }
        }
        return outcome
    }

    /// Of one reading of the snapshots.
    private static let batch = 10_000
    /// Documents may be replaced between a listing and their reading.
    static let maximumListings = 4
    /// Of single photos; then the tier as a whole is the reason.
    private static let maximumFailures = 3

    /// What was announced two days ago.
    private func due(
        ownIntents: [String: Date], date: Date?, of identity: TierIdentity, limit: Int
    ) throws(CloakroomError) -> [PhotoDescriptor] {
        let now = clock()
        var due: [PhotoDescriptor] = []
        for (name, modified) in ownIntents.sorted(by: { $0.value < $1.value }) where due.count < limit {
            // Where the store tells no time: an announcement may have been made by a clock that was behind.
            if (date ?? now).timeIntervalSince(modified) < Self.announcement { continue }
            let latest = date == nil ? now.addingTimeInterval(-Self.announcement).milliseconds : Int64.max
            due += try catalog.perform { database throws(SQLiteError) in
                try database.rows(
                    """
                    SELECT sha256, md5, byte_count, format FROM tombstone
                    WHERE intent = ? AND tier = ? AND announced_at IS NOT NULL AND announced_at <= ?
                    """, [.text(name), .text(identity.description), .integer(latest)]
                ) { row in
                    let sha256 = row.blob(0)
                    return PhotoDescriptor(
                        sha256: sha256.isEmpty ? nil : sha256, md5: row.blob(1), byteCount: row.integer(2),
                        format: row.text(3))
                }
            }
        }
        return due
    }

    /// Where the store tells no time: whether the device's clock has not gone back while a deletion waits. Otherwise the
    /// time of all begins again.
    func isDeviceClockTrusted() throws(CloakroomError) -> Bool {
        let now = clock().milliseconds
        return try catalog.transaction { database throws(SQLiteError) in
            let latest = try database.number(.deletionClock)
            try database.set(.deletionClock, to: "\(now)")
            guard now < latest else { return true }
            try database.run("UPDATE tombstone SET announced_at = ? WHERE announced_at IS NOT NULL", [.integer(now)])
            try database.run("UPDATE sent_deletion SET ended_at = ? WHERE ended_at IS NOT NULL", [.integer(now)])
            return false
        }
    }

    /// Which of these another device names, by all snapshots of all other devices that were not given up.
    ///
    /// - Returns: `nil` when a document was replaced since the listing: then another listing shows by what.
    private func named(among photos: Set<[UInt8]>, in listing: DeviceListing) async throws -> Set<[UInt8]>? {
        var all: Set<[UInt8]> = []
        for (other, snapshots) in listing.snapshots where other != device {
            if try await isDismissed(other, in: listing) { continue }
            // By what the entries are of, as a later one of the same photo counts.
            var named: [[UInt8]: [UInt8]] = [:]
            for snapshot in snapshots {
                guard snapshot.byteCount <= SharedDocumentRules.maximumBytes else {
                    throw SnapshotDocument.tooLarge(snapshot.name)
                }
                guard let document = try await read(snapshot.name, SnapshotDocument.self) else { return nil }
                for photo in document.removed { named[photo] = nil }
                for entry in document.entries where photos.contains(entry.md5) { named[entry.photo] = entry.md5 }
            }
            all.formUnion(named.values)
        }
        return all
    }

    /// - Returns: how many tombstones are gone.
    private func delete(
        _ photos: [PhotoDescriptor], named: Set<[UInt8]>, readAt: Date, outcome: inout DeletionOutcome
    ) async throws -> Int {
        // Of what is sent here: no listing shows before its end when that was.
        defer { listingsBeforeSilence = listingCount }
        var count = 0
        var failures = 0
        var goesOn: Bool {
            failures < Self.maximumFailures && !Task.isCancelled
                && (0..<Self.readingLifetime).contains(clock().timeIntervalSince(readAt))
        }
        for batch in photos.batches(of: Self.committed) where goesOn {
            try markSent(batch.filter { !named.contains($0.md5) })
            var done: [[UInt8]] = []
            defer { count += done.count }
            for photo in batch {
                if !named.contains(photo.md5) {
                    // Its tombstone is dropped at the next run.
                    if try isPresent(photo.md5) { continue }
                    guard goesOn else { break }
                    do {
                        try Task.checkCancellation()
                        try await tier.delete(photo)
                        try await tier.deleteThumbnail(of: photo)
                    } catch {
                        outcome.failure = outcome.failure ?? error
                        failures += 1
                        continue
                    }
                    outcome.deleted += 1
                }
                done.append(photo.md5)
            }
            try dropTombstones(done)
        }
        return count
    }

    /// Deletions of one transaction, before and after they are sent; after a kill they are done again.
    private static let committed = 64

    private func isPresent(_ md5: [UInt8]) throws(CloakroomError) -> Bool {
        try catalog.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM photo WHERE md5 = ?", [.blob(md5)]) { _ in true } ?? false
        }
    }

    /// Intents that announced only these are withdrawn, later, or by the next run.
    func dropTombstones(_ photos: [[UInt8]]) throws(CloakroomError) {
        guard !photos.isEmpty else { return }
        try catalog.transaction { database throws(SQLiteError) in
            let before = try database.intents()
            for md5 in photos { try database.run("DELETE FROM tombstone WHERE md5 = ?", [.blob(md5)]) }
            let left = Set(try database.intents())
            for intent in before where !left.contains(intent) { try database.markObsolete(intent) }
        }
    }
}
