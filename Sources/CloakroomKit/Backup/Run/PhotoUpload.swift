import Foundation

/// What is done for one file: is it known, read it, is it there, send it.
struct PhotoUpload: Sendable {
    let client: S3BackupClient
    let layout: PhotoLayout
    let index: PhotoIndex?
    let sidecars: (any PhotoSidecarProvider)?
    let run: BackupRun

    /// How often a file is begun that changes while it is read.
    private static let maximumAttempts = 3

    /// What S3 has now of a file.
    private struct Stored {
        let digest: PhotoDigest
        let isNew: Bool
    }

    /// - Throws: why S3 does not have it.
    func backUp(_ path: String) async throws {
        for _ in 0..<Self.maximumAttempts {
            let stamp = try FileStamp(path: path)
            do {
                guard let stored = try await store(path, stamp) else { return }
                // With another stamp it is another photo by now; the one that was stored is one that was.
                guard try FileStamp(path: path) == stamp else { continue }
                await keep(stored.digest, of: stamp, isStored: true)
                let more = try await storeSidecars(of: path, stored.digest)
                return await run.settle(
                    path, byteCount: stamp.byteCount, uploaded: (stored.isNew ? stamp.byteCount : 0) + more,
                    isNew: stored.isNew)
            } catch let error as CloakroomError where Self.mayBeChange(error) {
                guard try FileStamp(path: path) != stamp else { throw error }
            }
        }
        throw CloakroomError(.unreadableFile, "\(path) changes while it is read")
    }

    private static func mayBeChange(_ error: CloakroomError) -> Bool {
        error.code == .unreadableFile || error.code == .checksumMismatch
    }

    /// - Returns: `nil` when the file comes again later, because an equal one is under way.
    private func store(_ path: String, _ stamp: FileStamp) async throws -> Stored? {
        let known = await index?.digest(of: stamp)
        if let known, await run.has(known, byteCount: stamp.byteCount) { return Stored(digest: known, isNew: false) }
        if stamp.byteCount <= client.sizes.singlePut { return try await storeWhole(path, stamp) }
        return try await storeInParts(path, stamp, known)
    }

    /// Read once, for its digest and its upload.
    private func storeWhole(_ path: String, _ stamp: FileStamp) async throws -> Stored? {
        try await client.budget.spending(Int(stamp.byteCount)) {
            let file = try UploadFile(URL(fileURLWithPath: path))
            let data = try await file.read(0..<stamp.byteCount)
            try file.checkUnchanged()
            let md5 = await S3BackupClient.md5(data)
            return try await storing(md5, path, stamp) { key, condition in
                try await client.putWithinBudget(
                    data, md5: md5, to: key, metadata: Self.metadata(of: path), condition: condition)
            }
        }
    }

    private func storeInParts(_ path: String, _ stamp: FileStamp, _ known: PhotoDigest?) async throws -> Stored? {
        // Opened once: an upload of what is not what was hashed is not completed.
        let file = try UploadFile(URL(fileURLWithPath: path))
        try file.check(stamp)
        let md5: [UInt8]
        if let known {
            md5 = known.bytes
        } else {
            md5 = try await file.md5(0..<stamp.byteCount)
            try file.checkUnchanged()
            // Reading it is slow; its digest is recorded, whatever becomes of the rest.
            if let digest = PhotoDigest(bytes: md5) { await keep(digest, of: stamp, isStored: false) }
        }
        return try await storing(md5, path, stamp) { key, condition in
            let (values, observer) = TransferProgress.stream()
            async let _: Void = watch(values, path)
            let request = try PutRequest(
                "application/octet-stream", Self.metadata(of: path), condition, md5: md5, observer)
            try await client.put(file, to: key, request)
        }
    }

    private func keep(_ digest: PhotoDigest, of stamp: FileStamp, isStored: Bool) async {
        do { try await index?.keep(digest, of: stamp, isStored: isStored) } catch {
            await run.noteIndexFailure(CloakroomError(of: error))
        }
    }

    private func watch(_ values: AsyncStream<TransferProgress>, _ path: String) async {
        for await value in values { await run.move(path, bytes: value.bytesDone) }
    }

    /// Stores a photo unless S3 has it, and never the same one twice at once.
    private func storing(
        _ md5: [UInt8], _ path: String, _ stamp: FileStamp,
        put: (_ key: String, _ condition: ObjectCondition) async throws -> Void
    ) async throws -> Stored? {
        guard let digest = PhotoDigest(bytes: md5) else { return nil }
        switch await run.claim(digest, byteCount: stamp.byteCount, path: path) {
        case .alreadyThere: return Stored(digest: digest, isNew: false)
        case .later: return nil
        case .upload(let known):
            do {
                let photo = StoredPhoto(key: try layout.photo(md5: digest.hexadecimal), byteCount: stamp.byteCount)
                let isNew = try await photo.store(known, in: client) { try await put(photo.key, $0) }
                await run.store(digest, byteCount: stamp.byteCount)
                return Stored(digest: digest, isNew: isNew)
            } catch {
                await run.giveUp(digest)
                throw error
            }
        }
    }

    /// Where the app has any that S3 has not.
    ///
    /// - Returns: how many bytes went up.
    private func storeSidecars(of path: String, _ digest: PhotoDigest) async throws -> Int64 {
        guard let sidecars else { return 0 }
        let url = URL(fileURLWithPath: path)
        var bytes: Int64 = 0
        for kind in PhotoSidecar.allCases where await !run.has(kind, of: digest) {
            let key = try kind.key(md5: digest.hexadecimal, in: layout)
            if await !run.hasListing, try await client.head(key) != nil { continue }
            guard let data = try await kind.data(of: url, from: sidecars) else { continue }
            try await client.put(data, to: key, contentType: kind.contentType)
            bytes += Int64(data.count)
        }
        return bytes
    }

    private static func metadata(of path: String) -> [String: String] {
        let format = URL(fileURLWithPath: path).pathExtension.lowercased()
        return OriginalFormat.isValid(format) ? [OriginalFormat.field: format] : [:]
    }
}

/// One photo in S3.
private struct StoredPhoto {
    let key: String
    let byteCount: Int64

    /// - Parameter known: what S3 said of it in this run.
    /// - Returns: whether it was stored just now; else it was there.
    func store(
        _ known: BackupRun.RemoteState, in client: S3BackupClient, put: (ObjectCondition) async throws -> Void
    ) async throws -> Bool {
        var condition = ObjectCondition.isNew
        switch known {
        case .absent: break
        case .different: condition = .none
        case .unknown: if try await isThere(in: client) { return false }
        }
        do {
            try await put(condition)
        } catch let error as CloakroomError where error.code == .conditionFailed {
            // Uploaded just now by another client, or by us when the response was lost; the key is the hash of the content.
            if try await isThere(in: client) { return false }
            try await put(.none)
        } catch let error as CloakroomError where error.serverCode == "NotImplemented" && condition != .none {
            // A store without conditions; then the last one wins, with the same bytes.
            try await put(.none)
        }
        return true
    }

    private func isThere(in client: S3BackupClient) async throws -> Bool {
        try await client.head(key)?.byteCount == byteCount
    }
}
