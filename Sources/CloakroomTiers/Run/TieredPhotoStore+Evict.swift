import CloakroomKit
import CloakroomSQLite
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension TieredPhotoStore {
    /// A proof that is older, in seconds, lets nothing leave the device.
    private static let proofLifetime: TimeInterval = 24 * 3600

    /// Uploads what is not there yet, and removes from the device what may leave it.
    ///
    /// The order makes the deletions of other devices harmless. Another device announces a deletion, waits for two days,
    /// reads all snapshots, and deletes what none of them names. Here the snapshot that names the photo is published
    /// first. Then the announcements are read: one that is there keeps the photo; one that comes later finds the
    /// snapshot. The proof comes last: it fails if the object was deleted before the announcements were read.
    ///
    /// - Parameters:
    ///   - ids: at most some hundred, which share a snapshot, a listing, two transactions and the syncing of the folder.
    ///   - excess: those of them that leave for the policy's number of bytes, whatever their age.
    func evict(_ ids: ArraySlice<Int64>, _ excess: Set<Int64>, _ rule: DueRule?, _ state: RunState) async throws {
        let rows = try await upload(ids, state)
        guard !rows.isEmpty else { return }
        try await publishSnapshot()
        let survey = try await surveyDevices()
        guard !survey.isDismissed else { return try await beginAnew(state) }
        try trustClock(survey, state)
        let provenAt = clock()
        let proofs = try await prove(rows, state, records: false)
        guard !proofs.isEmpty else { return }
        if let reason = try reasonToKeep(survey, provenAt, state) {
            // What was proven is recorded all the same.
            try record(proofs, state)
            throw reason
        }
        // It may have been changed while the run went on.
        let rule = state.isFreeing ? rule : policy.rule(at: state.date)
        let excess = try stillInExcess(excess, rule, state)
        let pending = views
        let leaving = try catalog.transaction { database throws(SQLiteError) in
            try Catalog.keepViews(pending, in: database)
            var leaving: [PhotoRow] = []
            for (id, proof) in proofs.sorted(by: { $0.key < $1.key }) {
                guard let row = try Catalog.photo(id, in: database), row.state.isLocal else { continue }
                let isAllowed = try mayLeave(row, proof, excess.contains(id) ? nil : rule, survey, state, database)
                try Catalog.record(proof, on: state.date, isAllowed ? .evicting : .both, of: id, in: database)
                if isAllowed { leaving.append(row) }
            }
            return leaving
        }
        views = views.filter { pending[$0.key] != $0.value }
        step(.evicting)
        do { try removeFiles(leaving, state) } catch {
            // Those that are left are due again; what cannot be recorded now, the next run records.
            try? Self.endEvictions(catalog, folder)
            throw error
        }
    }

    /// Those that leave for the number of bytes of the policy as it is now.
    private func stillInExcess(
        _ excess: Set<Int64>, _ rule: DueRule?, _ state: RunState
    ) throws(CloakroomError) -> Set<Int64> {
        guard !excess.isEmpty, policy != state.policy else { return excess }
        let due = try rule.map { rule throws(CloakroomError) in try dueIDs(rule) } ?? []
        return excess.intersection(try dueByBytes(excluding: due))
    }

    /// A clock that was ahead once, and is right now, has not gone back.
    private func trustClock(_ survey: DeviceSurvey, _ state: RunState) throws(CloakroomError) {
        let now = clock()
        guard state.isClockBehind, survey.isServerDate, abs(now.timeIntervalSince(survey.date)) < 3600 else { return }
        try catalog.set(.lastSeen, to: String(now.milliseconds))
        state.isClockBehind = false
    }

    /// Why nothing at all may leave the device now; `nil` when something may.
    private func reasonToKeep(
        _ survey: DeviceSurvey, _ provenAt: Date, _ state: RunState
    ) throws(CloakroomError) -> CloakroomError? {
        if let alarm = try catalog.alarms().first {
            return Self.stopped(by: alarm)
        }
        // Changed while the run went on.
        guard policy.period != .forever else {
            return CloakroomError(.notAllowedNow, "the policy keeps all photos on the device")
        }
        let now = clock()
        if state.isClockBehind || now < provenAt {
            return CloakroomError(.clockWentBack, "the device's clock shows a time that it has shown before")
        }
        // As of an app that was suspended in between.
        if now.timeIntervalSince(provenAt) > Self.proofLifetime {
            return CloakroomError(.timedOut, "the proofs are too old by now")
        }
        return nil
    }

    /// Whether one photo may leave, by all that is known of it in this transaction.
    ///
    /// - Parameter rule: `nil` for one that leaves whatever its age is.
    private nonisolated func mayLeave(
        _ row: PhotoRow, _ proof: ColdProof, _ rule: DueRule?, _ survey: DeviceSurvey, _ state: RunState,
        _ database: SQLiteDatabase
    ) throws(SQLiteError) -> Bool {
        guard let sha256 = row.sha256, !sha256.isEmpty, row.segment != nil, !row.isPinned, !leases.isOpen(row.id),
            proof.identity == state.identity, !survey.announcedDeletions.contains(row.md5)
        else { return false }
        // The store's clock, where it is known, cannot be set by the user.
        let lead = survey.isServerDate ? max(0, state.date.timeIntervalSince(survey.date)) : 0
        var limit = rule ?? DueRule(addedBefore: nil, viewedBefore: .distantFuture)
        if let added = limit.addedBefore { limit.addedBefore = added - lead }
        return try database.first(
            "SELECT 1 FROM photo WHERE id = ? AND \(DueRule.condition)", [.integer(row.id)] + limit.values
        ) { _ in true } ?? false
    }

    /// Removes files whose proofs are committed. Nothing else happens in the store meanwhile.
    private func removeFiles(_ rows: [PhotoRow], _ state: RunState) throws {
        guard !rows.isEmpty else { return }
        var bytes: Int64 = 0
        for row in rows {
            guard let name = row.fileName else { continue }
            let file = folder.photo(name)
            if let status = StoreFolder.status(file) { bytes += StoreFolder.allocatedBytes(status) }
            try StoreFolder.remove(file)
            step(.unlinked)
        }
        try StoreFolder.sync(folder.photos)
        try catalog.transaction { database throws(SQLiteError) in
            for row in rows { try Catalog.endEviction(of: row.id, isFileThere: false, in: database) }
        }
        step(.cold)
        state.report.evicted += rows.count
        state.report.evictedBytes += bytes
    }
}
