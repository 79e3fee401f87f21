import CloakroomCrypto
import CloakroomKit
import CloakroomSQLite
import Foundation

extension DeviceDocuments {
    /// Makes the catalog anew, or adds to it what snapshots and the listing have besides.
    ///
    /// The snapshots of all devices and the whole listing go into temporary tables first; when both are complete, rows
    /// are added to the catalog, a thousand in a transaction. A kill leaves the rows there are, and the next rebuild adds
    /// the others. No original is read from the tier.
    ///
    /// A rebuilt photo was proven at some time, but not to this catalog: its proof bears the date 0, so it is never fresh.
    ///
    /// - Parameter report: of the files of this device, which are in the catalog already.
    func rebuild(_ report: RebuildReport) async throws -> RebuildReport {
        try await gate.through {
            var report = report
            let identity = try await tier.identity
            // Of a photo that is not uploaded yet the tier may have the object: removed meanwhile it must not come back.
            try catalog.markAllShared()
            let staging = RebuildStaging(catalog: catalog, device: device)
            try staging.begin()
            let result: Result<Void, any Error>
            do {
                let (listing, unreadable) = try await stageSnapshots(staging)
                report.unreadableDocuments = unreadable
                try await stageObjects(staging)
                report.nameConflicts += try staging.finish()
                let date = listing.date ?? clock()
                try await merge(staging, tier: identity, &report)
                try await addUnnamed(staging, tier: identity, on: date, &report)
                // Also of those that were added meanwhile.
                try catalog.markAllShared()
                result = .success(())
            } catch {
                result = .failure(error)
            }
            // They belong to the connection, which lives on.
            try staging.end()
            try result.get()
            report.photos = try catalog.perform { database throws(SQLiteError) in
                try database.first("SELECT count(*) FROM photo") { row in Int(row.integer(0)) } ?? 0
            }
            return report
        }
    }

    /// The last documents of all devices, and what no device is to have again.
    private func stageSnapshots(
        _ staging: RebuildStaging
    ) async throws -> (listing: DeviceListing, unreadable: Int) {
        for _ in 0..<Self.maximumListings {
            let (listing, _) = try await list()
            var unreadable = 0
            if try await stageSnapshots(of: listing, staging, &unreadable) { return (listing, unreadable) }
            // A document was replaced since the listing.
            try staging.begin()
        }
        throw CloakroomError(.unavailable, "the user's other devices replace their documents all the time")
    }

    /// - Parameter unreadable: how many documents were passed over: a rebuild deletes nothing, and their photos come from
    ///   the listing.
    private func stageSnapshots(
        of listing: DeviceListing, _ staging: RebuildStaging, _ unreadable: inout Int
    ) async throws -> Bool {
        for (other, snapshots) in listing.snapshots {
            let isDismissed = listing.dismissals[other] != nil
            for snapshot in snapshots {
                guard snapshot.byteCount <= SharedDocumentRules.maximumBytes else {
                    unreadable += 1
                    continue
                }
                do {
                    guard let document = try await read(snapshot.name, SnapshotDocument.self) else { return false }
                    try staging.add(document, of: other, isDismissed: isDismissed, sequence: snapshot.sequence)
                } catch let error as CloakroomError {
                    guard error.code == .storeFailed else { throw error }
                    unreadable += 1
                }
            }
        }
        for intent in listing.intents {
            guard intent.document.byteCount <= SharedDocumentRules.maximumBytes else {
                unreadable += 1
                continue
            }
            do {
                guard let document = try await read(intent.name, IntentDocument.self) else { continue }
                try staging.add(document)
            } catch let error as CloakroomError {
                guard error.code == .storeFailed else { throw error }
                unreadable += 1
            }
        }
        return true
    }

    private func stageObjects(_ staging: RebuildStaging) async throws {
        var page: [ColdObject] = []
        for try await object in tier.list() {
            guard object.md5.count == MD5.byteCount, object.byteCount >= 0 else { continue }
            page.append(object)
            guard page.count >= RebuildStaging.page else { continue }
            try staging.add(page)
            page = []
        }
        try Task.checkCancellation()
        try staging.add(page)
    }

    private func merge(
        _ staging: RebuildStaging, tier: TierIdentity, _ report: inout RebuildReport
    ) async throws {
        var last: [UInt8] = []
        while true {
            let photos = try staging.photos(after: last)
            guard let end = photos.last else { return }
            last = end
            try catalog.transaction { database throws(SQLiteError) in
                for photo in photos {
                    try database.mergeRebuilt(photo, tier: tier, device: staging.device, &report)
                }
            }
            await Task.yield()
        }
    }

    private func addUnnamed(
        _ staging: RebuildStaging, tier: TierIdentity, on date: Date, _ report: inout RebuildReport
    ) async throws {
        var last: [UInt8] = []
        while true {
            let objects = try staging.unnamedObjects(after: last)
            guard let end = objects.last else { return }
            last = end.md5
            try catalog.transaction { database throws(SQLiteError) in
                for object in objects {
                    try database.run(
                        """
                        INSERT INTO photo (md5, byte_count, format, taken_at, added_at, state, tier, remote_key)
                        VALUES (?, ?, 'dat', ?, ?, \(PhotoState.cold.rawValue), ?, ?)
                        """,
                        [
                            .blob(object.md5), .integer(object.byteCount), .integer(date.milliseconds),
                            .integer(date.milliseconds), .text(tier.description), .text(object.key),
                        ])
                    report.unnamed += 1
                }
            }
            await Task.yield()
        }
    }
}
