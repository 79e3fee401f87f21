import CloakroomKit
import CloakroomSQLite
import Foundation

extension TieredPhotoStore {
    /// Opens a photo; one that is not on the device is fetched, once for however many callers.
    ///
    /// While the result exists, or until it is closed, the photo stays on the device. That holds for this process: one
    /// that only reads should read the bytes at once.
    ///
    /// - Parameter within: ``CloakroomError/Code/timedOut`` after that; the fetch goes on, and the next call finds it.
    /// - Throws: ``CloakroomError``: besides, ``CloakroomError/Code/noSuchPhoto``,
    ///   ``CloakroomError/Code/photoMissing``, ``CloakroomError/Code/archived``,
    ///   ``CloakroomError/Code/accountChanged``, ``CloakroomError/Code/unreachable``, and for a photo that has to be fetched
    ///   ``CloakroomError/Code/storeInUse`` where another process writes.
    public func open(_ id: PhotoID, within: Duration = .seconds(10)) async throws -> PhotoFile {
        if let file = try openLocal(id) { return file }
        return try await finish(fetch(id), of: id, within)
    }

    /// - Returns: `nil` when the photo has to be fetched.
    func openLocal(_ id: PhotoID) throws(CloakroomError) -> PhotoFile? {
        guard let known = try localPhoto(id) else { return nil }
        // A file of another size is damaged, as by a loss of power.
        guard let status = StoreFolder.status(of: known.name, in: photosFolder),
            Int64(status.st_size) == known.byteCount
        else {
            guard known.hasProof else {
                throw CloakroomError(.photoDamaged, "the file of photo \(id.rawValue) is gone or damaged")
            }
            return nil
        }
        let file = PhotoFile(id: id, url: known.file, byteCount: known.byteCount, leases: leases)
        noteView(id.rawValue)
        return file
    }

    /// - Returns: `nil` for one that is not on the device, as far as the catalog says.
    private func localPhoto(_ id: PhotoID) throws(CloakroomError) -> LocalPhotos.Photo? {
        // Another process writes where this one does not.
        let version = isWriter ? catalog.database.changeCount : nil
        if let known = localPhotos.photo(id.rawValue, at: version) { return known }
        guard let known = try catalog.location(id.rawValue) else { throw Self.noSuchPhoto(id) }
        guard known.isLocal, let name = known.fileName else { return nil }
        let photo = LocalPhotos.Photo(
            name: name, file: folder.photo(name), byteCount: known.byteCount, hasProof: known.hasProof)
        localPhotos.keep(photo, id.rawValue, at: version)
        return photo
    }

    private func finish(_ fetch: PhotoFetch, of id: PhotoID, _ within: Duration) async throws -> PhotoFile {
        // So that it stays from its arrival on.
        let lease = leases.open(id.rawValue)
        defer { lease.end() }
        let url = try await fetch.file(within: within)
        guard let status = StoreFolder.status(url) else {
            // Removed between its arrival and now.
            guard try catalog.photo(id.rawValue) != nil else { throw Self.noSuchPhoto(id) }
            throw CloakroomError(.photoDamaged, "the file of photo \(id.rawValue) is gone or damaged")
        }
        noteView(id.rawValue)
        return PhotoFile(id: id, url: url, byteCount: Int64(status.st_size), leases: leases)
    }

    /// The fetch that is under way, or a new one.
    func fetch(_ id: PhotoID) throws -> PhotoFetch {
        if let known = fetches[id.rawValue] { return known }
        guard let row = try catalog.photo(id.rawValue) else { throw Self.noSuchPhoto(id) }
        guard row.tier != nil else {
            throw CloakroomError(.photoDamaged, "the file of photo \(id.rawValue) is gone or damaged")
        }
        let fetch = PhotoFetch(timeouts, isolation: self) { [self] progress in
            do {
                return try await fetched(row) { progress.report($0) }
            } catch {
                await end(row)
                throw CloakroomError(of: error)
            }
        }
        fetches[row.id] = fetch
        return fetch
    }

    /// After a failure; what came so far of a photo that was removed meanwhile goes with it.
    private func end(_ row: PhotoRow) {
        fetches[row.id] = nil
        // Where that fails, the next run removes it.
        try? removePart(of: row.id, md5: row.md5)
    }

    private func fetched(_ row: PhotoRow, progress: @escaping TransferProgress.Observer) async throws -> URL {
        try requireLock()
        guard try await tier.identity == row.tier else {
            throw CloakroomError(.accountChanged, "photo \(row.id) is in another account")
        }
        let part = folder.part(of: row.md5)
        do {
            try await tier.fetch(row.descriptor, to: part, progress: progress)
        } catch let error as CloakroomError where error.code == .noSuchObject {
            if try await documents.removedBeforeNamed([row]).contains(row.id) {
                try catalog.forget([row])
                throw Self.noSuchPhoto(PhotoID(rawValue: row.id))
            }
            try markMissing(row)
            throw CloakroomError(.photoMissing, "photo \(row.id) is in the cold tier no more")
        }
        let content = try await content(of: part, fetchedAs: row)
        guard content.md5 == row.md5, content.byteCount == row.byteCount, row.sha256 ?? content.sha256 == content.sha256
        else {
            unlink(part.path)
            throw CloakroomError(.checksumMismatch, "what arrived of photo \(row.id) is not what was stored")
        }
        // Removed meanwhile.
        guard try catalog.photo(row.id) != nil else { throw Self.noSuchPhoto(PhotoID(rawValue: row.id)) }
        let format = row.sha256 == nil ? content.format : row.format
        let file = folder.photo(PhotoRow.fileName(sha256: content.sha256, format: format))
        try StoreFolder.move(part, to: file)
        step(.fetched)
        arrive(file, content, of: row)
        return file
    }

    private func content(of part: URL, fetchedAs row: PhotoRow) async throws -> PhotoContent {
        guard tier.hashesFetches, let sha256 = row.sha256 else { return try await PhotoContent(of: part) }
        return PhotoContent(sha256: sha256, md5: row.md5, byteCount: row.byteCount, format: row.format)
    }

    /// What is surely absent; the thumbnail stays, and so does the record.
    private func markMissing(_ row: PhotoRow) throws {
        guard row.state == .cold else { return }
        let now = clock()
        try catalog.transaction { database throws(SQLiteError) in
            try Catalog.markMissing(row.id, in: database)
        }
        try catalog.raise(.missing, photoCount: 1, example: row.remoteKey ?? "", on: now)
    }

    /// The steps of opening a photo: its thumbnail at once, the progress of the fetch, the file or why there is none.
    ///
    /// The stream ends after ``PhotoLoad/file(_:)`` or ``PhotoLoad/failed(_:)``.
    public nonisolated func load(_ id: PhotoID, within: Duration = .seconds(10)) -> AsyncStream<PhotoLoad> {
        AsyncStream { continuation in
            let task = Task {
                do {
                    try await self.load(id, within, continuation)
                } catch {
                    continuation.yield(.failed(CloakroomError(of: error)))
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private func load(
        _ id: PhotoID, _ within: Duration, _ continuation: AsyncStream<PhotoLoad>.Continuation
    ) async throws {
        if let bytes = try catalog.thumbnail(id.rawValue) { continuation.yield(.thumbnail(Data(bytes))) }
        if let file = try openLocal(id) {
            continuation.yield(.file(file))
            return
        }
        let fetch = try fetch(id)
        let watch = Task {
            for await fraction in fetch.progress.fractions() { continuation.yield(.progress(fraction: fraction)) }
        }
        defer { watch.cancel() }
        let file = try await finish(fetch, of: id, within)
        watch.cancel()
        await watch.value
        continuation.yield(.file(file))
    }
}
