import CloakroomKit
import CloakroomSQLite
import Foundation

/// The weekly look at the cold tier: a proof ends with time, as when a rule is added that deletes photos.
extension TieredPhotoStore {
    /// Photos that are looked at one by one, besides the oldest.
    private static let sampleSize = 16
    /// Photos that a listing does not have are looked for one by one, up to so many; of more the listing is trusted.
    private static let maximumConfirmations = 100

    /// Compares the catalog with a complete listing, and looks at some photos one by one.
    ///
    /// What it finds raises alarms, which keep everything on the device that is there; nothing is deleted.
    func look(_ state: RunState) async throws {
        let listed = try await listedObjects()
        try await compare(listed, state)
        try await lookAtSample(state)
        try await lookAtBelongings(state)
        // Snapshots that are gone are published again, before other devices delete what only they named.
        do { _ = try await surveyDevices() } catch let error as CloakroomError {
            // A document that cannot be read stops eviction and deletions, which look at it again.
            guard error.code == .storeFailed else { throw error }
        }
        try catalog.set(.lastLook, to: String(state.date.milliseconds))
    }

    /// What a listing says of the objects, by MD5.
    private struct Listed {
        var byteCount: Int64
        var isArchived: Bool
    }

    private func listedObjects() async throws -> [[UInt8]: Listed] {
        var objects: [[UInt8]: Listed] = [:]
        for try await object in tier.list() {
            objects[object.md5] = Listed(byteCount: object.byteCount, isArchived: object.isArchived)
        }
        return objects
    }

    private func compare(_ listed: [[UInt8]: Listed], _ state: RunState) async throws {
        var absent: [PhotoRow] = []
        var archived: [PhotoRow] = []
        var changed: [PhotoRow] = []
        var found: [PhotoRow] = []
        let ids = try catalog.ids(
            "SELECT id FROM photo WHERE tier = ? AND \(PhotoState.provenOnceSQL) ORDER BY id",
            [.text(state.identity.description)])
        for batch in ids.batches(of: 1000) {
            for row in try catalog.photos(Array(batch)) {
                guard let object = listed[row.md5] else {
                    if row.state != .missing { absent.append(row) }
                    continue
                }
                if row.state == .missing { found.append(row) }
                if object.isArchived { archived.append(row) }
                if object.byteCount >= 0, object.byteCount != row.byteCount { changed.append(row) }
            }
        }
        try await confirm(absent, state)
        try await bringBack(found, state)
        try raise(.archived, archived, state)
        try raise(.changed, changed, state)
    }

    /// Listings of some stores lag behind.
    private func confirm(_ absent: [PhotoRow], _ state: RunState) async throws {
        var gone: [PhotoRow] = []
        for (number, row) in absent.enumerated() {
            if number >= Self.maximumConfirmations {
                gone.append(row)
                continue
            }
            try await checkConditions(state)
            do {
                if try await tier.verify(row.descriptor, file: file(of: row)) == nil { gone.append(row) }
            } catch let error as CloakroomError {
                try pass(error, of: row, state)
            }
        }
        let removed = try await documents.removedBeforeNamed(gone)
        try catalog.forget(gone.filter { removed.contains($0.id) })
        gone.removeAll { removed.contains($0.id) }
        guard !gone.isEmpty else { return }
        let deleted = try documents.withDeletionUnderWay(gone)
        try catalog.transaction { database throws(SQLiteError) in
            for row in gone {
                let isHere = try Catalog.photo(row.id, in: database)?.state == .both
                if isHere {
                    try Catalog.forgetProof(of: row.id, in: database)
                } else {
                    try Catalog.markMissing(row.id, in: database)
                }
            }
        }
        try raise(.missing, gone.filter { $0.state != .both || !deleted.contains($0.id) }, state)
    }

    /// Photos that were missing, and are there again: on another day than the first.
    private func bringBack(_ found: [PhotoRow], _ state: RunState) async throws {
        for row in found {
            try await checkConditions(state)
            do {
                guard let proof = try await tier.verify(row.descriptor, file: nil) else { continue }
                try catalog.transaction { database throws(SQLiteError) in
                    guard try Catalog.photo(row.id, in: database)?.state == .missing else { return }
                    try Catalog.record(proof, on: state.date, .cold, of: row.id, in: database)
                }
            } catch let error as CloakroomError {
                try pass(error, of: row, state)
            }
        }
    }

    /// The oldest photo, and some others: whether the store is going to delete them shows only there.
    private func lookAtSample(_ state: RunState) async throws {
        let provenStates = PhotoState.sql(.both, .cold)
        let oldest = try catalog.ids(
            "SELECT id FROM photo WHERE tier = ? AND \(provenStates) ORDER BY verified_at, id LIMIT 1",
            [.text(state.identity.description)])
        let others = try catalog.ids(
            "SELECT id FROM photo WHERE tier = ? AND \(provenStates) ORDER BY random() LIMIT \(Self.sampleSize)",
            [.text(state.identity.description)])
        for row in try catalog.photos(Array(Set(oldest + others))) {
            try await checkConditions(state)
            do {
                if let proof = try await tier.verify(row.descriptor, file: file(of: row)) {
                    try record(proof, of: row, state)
                } else {
                    try await confirm([row], state)
                }
            } catch let error as CloakroomError {
                switch error.code {
                case .photoExpiring: try raise(.expiring, [row], state)
                case .archived: try raise(.archived, [row], state)
                case .photoCollision: try raise(.changed, [row], state)
                default: try pass(error, of: row, state)
                }
            }
        }
    }

    /// So that another one is the oldest next time.
    private func record(_ proof: ColdProof, of row: PhotoRow, _ state: RunState) throws(CloakroomError) {
        try catalog.transaction { database throws(SQLiteError) in
            guard let now = try Catalog.photo(row.id, in: database), [.both, .cold].contains(now.state) else { return }
            try Catalog.record(proof, on: state.date, now.state, of: row.id, in: database)
        }
    }

    /// One object that cannot be read says nothing of the others.
    private func pass(_ error: CloakroomError, of row: PhotoRow, _ state: RunState) throws(CloakroomError) {
        let general: Set<CloakroomError.Code> = [
            .unreachable, .timedOut, .cancelled, .notAllowedNow, .unauthorized, .sessionRevoked, .tokenUnavailable,
            .userDisabled, .subscriptionRequired, .storageQuotaExceeded, .tooManyRequests,
        ]
        guard !error.concernsTier, !general.contains(error.code) else { throw error }
        guard state.report.failures.count < 100 else { return }
        state.report.failures.append(.init(photo: PhotoID(rawValue: row.id), error: error))
    }

    /// The oldest thumbnail and the oldest snapshot: without snapshots other devices would delete what this one needs.
    private func lookAtBelongings(_ state: RunState) async throws {
        let ids = try catalog.ids(
            "SELECT id FROM photo WHERE tier = ? AND thumbnail_uploaded = 1 ORDER BY verified_at, id LIMIT 1",
            [.text(state.identity.description)])
        let photo = try ids.first.flatMap { try catalog.photo($0) }
        try await checkConditions(state)
        do {
            try await tier.checkStays(thumbnailOf: photo?.descriptor, document: try documents.oldestSnapshot())
        } catch let error as CloakroomError where error.code == .photoExpiring || error.code == .archived {
            let kind: TierAlarm.Kind = error.code == .archived ? .archived : .expiring
            try catalog.raise(kind, photoCount: 0, example: error.message, on: state.date)
        }
    }

    private func raise(_ kind: TierAlarm.Kind, _ rows: [PhotoRow], _ state: RunState) throws(CloakroomError) {
        guard let first = rows.first else { return }
        try catalog.raise(kind, photoCount: rows.count, example: first.remoteKey ?? "", on: state.date)
    }
}
