import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

extension DeviceDocuments {
    /// How long a deletion is announced, by the store's clock.
    static let announcement: TimeInterval = 48 * 3_600

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
    /// A process that was suspended between (2) and (3) is covered by the second case, however long that took. What cannot
    /// be read in (2) ends the run: a damaged document is not an empty one. Devices that the user gave up name nothing,
    /// see ``dismiss(_:)``.
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
        guard !present.isEmpty else { return }
        // Their objects stay: removed once more, also before they are published or uploaded, they are to be deleted again.
        try catalog.markAllShared()
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
}
