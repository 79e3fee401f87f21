import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

extension DeviceDocuments {
    /// How long a deletion is announced, by the store's clock.
    static let announcement: TimeInterval = 48 * 3_600
    /// How long what was read for deletions counts: a process that was suspended reads again.
    private static let readingLifetime: TimeInterval = 1_800

    /// Deletes in the tier what the user has removed, as far as its time has come.
    ///
    /// Reading the snapshots and then deleting would be a race: A reads, B publishes that it has the photo, and proves
    /// it, A deletes, B lets its file go. The photo would be lost. So two orders are kept:
    ///
    /// - A, which deletes: write the intent (1); two days later list, and read all snapshots (2); delete (3); withdraw
    ///   the intent (4).
    /// - B, whose file goes: write the snapshot that names the photo (a); list, and read the intents (b); prove the
    ///   photo by a request that begins after that (c); unlink (d).
    ///
    /// Each step ends before the next begins, and the store shows what was written to each client that lists later. Then there
    /// are three cases.
    ///
    /// - (b) lists before (1) is written. Then (a) was written before (2) lists, so A finds the photo named and does not
    ///   delete it. B's documents name it as long as B has it: they are replaced by others that are there first.
    /// - (b) lists after (1) and before (4). Then B sees the intent and keeps its file.
    /// - (b) lists after (4). Then the object is deleted, or A has given the deletion up. In (c), which is later, B sees
    ///   which.
    ///
    /// A request may reach the store long after the call that sent it has ended, even if a later attempt of it succeeded.
    /// So (3) ends ``longestWay`` after that, and (4) comes then: also when the photo was added again meanwhile, which
    /// keeps its file on A until then, as on B.
    ///
    /// The two days are for stores where a listing shows late what was written, and for the user's own devices: one that
    /// was just rebuilt, or restored, has the time to name what it took over.
    ///
    /// A process that was
    /// suspended between (2) and (3) is covered by the second case, however long that took. What cannot be read in (2)
    /// ends the run: a damaged document is not an empty one. Devices that the user gave up name nothing, see
    /// ``dismiss(_:)``.
    ///
    /// - Parameter survey: of this run; what it shows decides whether there is something to do, a new listing the rest.
    /// - Returns: how many photos were deleted.
    /// - Throws: also when single deletions failed, after all else was done; these are attempted again at the next run.
    func advanceDeletions(_ survey: DeviceSurvey) async throws -> Int {
        try await gate.through {
            guard !survey.isDismissed else { return 0 }
            try dropTombstonesOfPresentPhotos()
            var outcome = DeletionOutcome()
            if try hasAnnouncements() {
                let identity = try await tier.identity
                try forgetLostIntents(survey)
                try endSentDeletions(survey)
                outcome = try await deleteDue(survey, of: identity)
                try await announce(of: identity)
            }
            try await withdrawIntents(survey)
            if let failure = outcome.failure { throw failure }
            return outcome.deleted
        }
    }

    private func hasAnnouncements() throws(CloakroomError) -> Bool {
        try catalog.perform { database throws(SQLiteError) in
            try database.first("SELECT 1 FROM tombstone UNION ALL SELECT 1 FROM sent_deletion") { _ in true } ?? false
        }
    }

    /// The user has added the photo again, or another one of its MD5, which is its name in the tier.
    private func dropTombstonesOfPresentPhotos() throws(CloakroomError) {
        let present = try catalog.perform { database throws(SQLiteError) in
            try database.rows(
                "SELECT md5 FROM tombstone WHERE EXISTS (SELECT 1 FROM photo WHERE photo.md5 = tombstone.md5)"
            ) { row in row.blob(0) }
        }
        try dropTombstones(present)
    }

    /// Announcements that are not there are made again, and their time begins again.
    private func forgetLostIntents(_ survey: DeviceSurvey) throws(CloakroomError) {
        let intents = try catalog.perform { database throws(SQLiteError) in try database.intents() }
        for name in intents where !survey.intents.contains(name) && (announcements[name] ?? -1) < survey.number {
            try catalog.transaction { database throws(SQLiteError) in
                try database.run(
                    "UPDATE tombstone SET intent = NULL, announced_at = NULL WHERE intent = ?", [.text(name)])
                try database.run("UPDATE sent_deletion SET intent = NULL WHERE intent = ?", [.text(name)])
            }
        }
    }

    // MARK: Announcing

    private func announce(of identity: TierIdentity) async throws {
        while true {
            let photos = try catalog.perform { database throws(SQLiteError) in
                try database.rows(
                    """
                    SELECT md5 FROM tombstone WHERE intent IS NULL AND tier = ?1
                    UNION SELECT md5 FROM sent_deletion WHERE intent IS NULL AND tier = ?1 LIMIT ?2
                    """, [.text(identity.description), .integer(Int64(IntentDocument.maximumPhotos))]
                ) { row in row.blob(0) }
            }
            guard !photos.isEmpty else { return }
            let name = DeviceDocumentName.intent(device, DeviceID.random().rawValue).text
            // A kill after the upload leaves a document of no tombstone, which is withdrawn.
            try await tier.putDocument(try IntentDocument(photos: photos).encoded(), named: name)
            announcements[name] = listingCount
            let now = clock().milliseconds
            try catalog.transaction { database throws(SQLiteError) in
                for md5 in photos {
                    try database.run(
                        "UPDATE tombstone SET intent = ?, announced_at = ? WHERE md5 = ? AND intent IS NULL",
                        [.text(name), .integer(now), .blob(md5)])
                    try database.run(
                        "UPDATE sent_deletion SET intent = ? WHERE md5 = ? AND intent IS NULL",
                        [.text(name), .blob(md5)])
                }
            }
        }
    }

    /// Deletes the documents that announce nothing any more.
    private func withdrawIntents(_ survey: DeviceSurvey) async throws {
        let used = Set(try catalog.perform { database throws(SQLiteError) in try database.intents() })
        // Of those that no tombstone ever had, because the process ended.
        for name in survey.ownIntents.keys.sorted() where !used.contains(name) {
            try catalog.perform { database throws(SQLiteError) in try database.markObsolete(name) }
        }
        try await deleteObsoleteDocuments(onlyIntents: true)
    }

    // MARK: Deleting

    private func deleteDue(_ survey: DeviceSurvey, of identity: TierIdentity) async throws -> DeletionOutcome {
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
    private func dropTombstones(_ photos: [[UInt8]]) throws(CloakroomError) {
        guard !photos.isEmpty else { return }
        try catalog.transaction { database throws(SQLiteError) in
            let before = try database.intents()
            for md5 in photos { try database.run("DELETE FROM tombstone WHERE md5 = ?", [.blob(md5)]) }
            let left = Set(try database.intents())
            for intent in before where !left.contains(intent) { try database.markObsolete(intent) }
        }
    }
}

/// What came of the deletions of one run.
private struct DeletionOutcome {
    var deleted = 0
    /// The first one; the photo stays announced, as the request may have been done all the same.
    var failure: (any Error)?
}
