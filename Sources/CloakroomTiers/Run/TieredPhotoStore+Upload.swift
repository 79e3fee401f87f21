import CloakroomKit
import CloakroomSQLite
import Foundation

extension TieredPhotoStore {
    /// Photos under way at once; what of them is in memory is bounded by the tier.
    private static let photosAtOnce = 16
    /// How long a photo that failed is left alone, in seconds.
    static let retryInterval: TimeInterval = 3600

    /// Uploads those photos of a batch that are not in the cold tier yet, with their thumbnails.
    ///
    /// - Returns: those that are there now, as far as the tier's responses say; nothing is proven by it.
    func upload(_ ids: ArraySlice<Int64>, _ state: RunState) async throws -> [PhotoRow] {
        let rows = try catalog.photos(Array(ids)).filter(\.state.isLocal)
        // A thumbnail may have been made after its photo was uploaded.
        let new = try rows.filter { row in
            try row.state != .both || catalog.thumbnailToUpload(row.id) != nil
        }
        let newIDs = Set(new.map(\.id))
        try catalog.transaction { database throws(SQLiteError) in
            for row in new where row.state == .hot { try Catalog.markUploading(row.id, in: database) }
        }
        step(.uploading)
        var withThumbnail: [Int64] = []
        var stored: [PhotoRow] = rows.filter { !newIDs.contains($0.id) }
        try await forEach(new, state, { store, row in try await store.upload(row) }) { row, uploaded in
            stored.append(row)
            if uploaded.hasThumbnail { withThumbnail.append(row.id) }
            guard let size = uploaded.byteCount else { return }
            state.report.uploaded += 1
            state.report.uploadedBytes += size
            try await state.spend(size)
        }
        let ids = withThumbnail
        try catalog.transaction { database throws(SQLiteError) in
            for id in ids {
                try database.run("UPDATE photo SET thumbnail_uploaded = 1 WHERE id = ?", [.integer(id)])
            }
        }
        return stored
    }

    /// What went up of one photo.
    private struct Uploaded {
        /// `nil` when an earlier run had stored it.
        var byteCount: Int64?
        var hasThumbnail = false
    }

    private func upload(_ row: PhotoRow) async throws -> Uploaded {
        guard let name = row.fileName else { throw Self.damaged(row) }
        let file = folder.photo(name)
        // Begun by a run that did not get to the proof: a look costs less than the bytes.
        let isStored =
            switch row.state {
            case .uploading: try await tier.verify(row.descriptor, file: file) != nil
            case .both: true
            default: false
            }
        if !isStored {
            // A damaged file must not take the place of a good object.
            let content = try await PhotoContent(of: file)
            guard content.sha256 == row.sha256 else { throw Self.damaged(row) }
            try await tier.put(file, row.descriptor, progress: nil)
            step(.stored)
        }
        var uploaded = Uploaded(byteCount: isStored ? nil : row.byteCount)
        if let thumbnail = try catalog.thumbnailToUpload(row.id) {
            try await tier.putThumbnail(Data(thumbnail), of: row.descriptor)
            uploaded.hasThumbnail = true
        }
        return uploaded
    }

    static func damaged(_ row: PhotoRow) -> CloakroomError {
        CloakroomError(.photoDamaged, "the file of photo \(row.id) has other bytes than were added")
    }

    /// Proves photos of a batch, and records it.
    ///
    /// - Returns: the proofs by photo.
    @discardableResult
    func prove(_ rows: [PhotoRow], _ state: RunState, records: Bool = true) async throws -> [Int64: ColdProof] {
        var proofs: [Int64: ColdProof] = [:]
        var absent: [PhotoRow] = []
        try await forEach(
            rows, state,
            { store, row in try await store.tier.verify(row.descriptor, file: store.file(of: row)) },
            { row, proof in
                if let proof { proofs[row.id] = proof } else { absent.append(row) }
            })
        if !absent.isEmpty { try await note(absent: absent, state) }
        if records, !proofs.isEmpty {
            try record(proofs, state)
        }
        return proofs
    }

    func record(_ proofs: [Int64: ColdProof], _ state: RunState) throws {
        try catalog.transaction { database throws(SQLiteError) in
            for (id, proof) in proofs {
                guard let row = try Catalog.photo(id, in: database), row.state.isLocal else { continue }
                try Catalog.record(proof, on: state.date, .both, of: id, in: database)
            }
        }
        step(.verified)
    }

    nonisolated func file(of row: PhotoRow) -> URL? { row.fileName.map { folder.photo($0) } }

    /// Photos on this device that the tier does not have: they are uploaded again.
    private func note(absent rows: [PhotoRow], _ state: RunState) async throws {
        let deleted = try documents.withDeletionUnderWay(rows)
        let proven = rows.filter { $0.verifiedAt != nil && $0.tier == state.identity && !deleted.contains($0.id) }
        try catalog.transaction { database throws(SQLiteError) in
            for row in rows {
                guard let now = try Catalog.photo(row.id, in: database), now.state.isLocal else { continue }
                try Catalog.forgetProof(of: row.id, in: database)
            }
        }
        guard let first = proven.first else { return }
        try catalog.raise(
            .missing, photoCount: proven.count, example: first.remoteKey ?? "", on: state.date)
    }

    // MARK: Many at once

    /// Does something for each photo, some at once; what fails is recorded and left alone for a while.
    ///
    /// - Parameter done: on the store, one after the other.
    /// - Throws: what ends the run.
    private func forEach<Value: Sendable>(
        _ rows: [PhotoRow], _ state: RunState,
        _ body: @escaping @Sendable (isolated TieredPhotoStore, PhotoRow) async throws -> Value,
        _ done: (PhotoRow, Value) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: (PhotoRow, Result<Value, CloakroomError>).self) { group in
            var rest = rows[...]
            var running = 0
            var stop: CloakroomError?
            while stop == nil || running > 0 {
                while stop == nil, running < Self.photosAtOnce, let row = rest.popFirst() {
                    do throws(CloakroomError) { try await checkConditions(state) } catch {
                        stop = error
                        break
                    }
                    running += 1
                    group.addTask { [self] in
                        do { return (row, .success(try await body(self, row))) } catch {
                            return (row, .failure(CloakroomError(of: error)))
                        }
                    }
                }
                guard running > 0, let (row, result) = try await group.next() else { break }
                running -= 1
                do {
                    switch result {
                    case .success(let value):
                        state.succeed()
                        try await done(row, value)
                    case .failure(let error):
                        try note(error, of: row, state)
                        try state.fail(row.id, error)
                    }
                } catch {
                    // Those that are cancelled for it say nothing of why.
                    stop = stop ?? CloakroomError(of: error)
                    group.cancelAll()
                }
            }
            if let stop { throw stop }
        }
    }

    /// What concerns this photo alone is not tried again with every run; what may pass is, after all others, so that no run
    /// ends at the same photos as the one before.
    private func note(_ error: CloakroomError, of row: PhotoRow, _ state: RunState) throws {
        let kind: TierAlarm.Kind?
        switch error.code {
        case .photoExpiring: kind = .expiring
        case .archived: kind = .archived
        case .photoCollision where row.verifiedAt != nil: kind = .changed
        default: kind = nil
        }
        if let kind {
            try catalog.raise(kind, photoCount: 1, example: row.remoteKey ?? row.md5.hexadecimal, on: state.date)
        }
        guard error.code != .cancelled else { return }
        let retry = error.isRetryable ? state.date : state.date + Self.retryInterval
        try catalog.transaction { database throws(SQLiteError) in
            try Catalog.postpone(row.id, until: retry, in: database)
        }
    }
}

extension Catalog {
    /// - Returns: `nil` when it is there, or there is none.
    func thumbnailToUpload(_ id: Int64) throws(CloakroomError) -> [UInt8]? {
        try perform { database throws(SQLiteError) in
            try database.first(
                """
                SELECT bytes FROM thumbnail JOIN photo ON photo.id = thumbnail.photo
                WHERE photo = ? AND thumbnail_uploaded = 0 AND length(bytes) > 0
                """, [.integer(id)]
            ) { $0.blob(0) }
        }
    }
}
