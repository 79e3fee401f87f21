import CloakroomAWS
import Foundation

/// The download of one object into a file.
struct ObjectDownload {
    let client: S3BackupClient
    let target: ObjectTarget
    let file: URL
    let known: KnownBytes
    var isSynced = true
    let progress: TransferProgress.Observer?

    private struct Found: Sendable {
        let object: StoredObject
        let byteCount: Int64
        /// Whether the bytes are all there, and those of the object.
        var isChecked = false
    }

    func run() async throws -> ObjectInfo {
        try await client.claim(file.path)
        do {
            let found = try await whole()
            await client.release(file.path)
            progress?(TransferProgress(bytesDone: found.byteCount, bytesTotal: found.byteCount))
            guard let info = ObjectInfo(found.object, key: target.key, byteCount: found.byteCount) else {
                throw S3BackupClient.unknownSize(target.key)
            }
            return info
        } catch {
            await client.release(file.path)
            throw error
        }
    }

    private func whole() async throws -> Found {
        let partial = PartialFile(of: file)
        var restarts = 0
        while true {
            do {
                let found: Found
                if let kept = try await rest(of: partial) { found = kept } else { found = try await begun(partial) }
                // Before a disk is filled with what is not wanted.
                guard known.byteCount == nil || found.byteCount == known.byteCount else {
                    partial.discard()
                    throw S3BackupClient.wrongBytes(target.key)
                }
                if !found.isChecked { try await fetchRest(of: found, into: partial) }
                try await finish(found, partial)
                return found
            } catch let fault as AWSError where restarts < 2 && Self.isOfAnother(fault) {
                // It is another object by now, or the store does not give the rest of one.
                partial.discard()
                restarts += 1
            }
        }
    }

    private static func isOfAnother(_ fault: AWSError) -> Bool {
        fault.status == 412 || fault.status == 416 || fault.code == "UnexpectedRange"
    }

    /// - Returns: the object that there is a part of already; `nil` when there is none, or of another.
    private func rest(of partial: PartialFile) async throws -> Found? {
        guard let tag = partial.entityTag,
            let stored = try await target.s3.head(target.object, deadline: client.operationDeadline),
            stored.entityTag == tag, let size = stored.byteCount, partial.byteCount <= size
        else { return nil }
        return Found(object: stored, byteCount: Int64(size))
    }

    /// Requests the first bytes, which are all of most objects.
    private func begun(_ partial: PartialFile) async throws -> Found {
        let size = client.sizes.firstRange
        return try await client.budget.spending(size) {
            // Made while the request is under way.
            async let made = partial.make()
            let found: StoredRange
            do { found = try await first(size) } catch {
                _ = try? await made
                partial.discard()
                throw error
            }
            return try await begin(partial, in: try await made, found)
        }
    }

    private func first(_ size: Int) async throws -> StoredRange {
        let transfer = client.readInMemory(size)
        let found: StoredRange?
        do throws(AWSError) {
            let range = ObjectRange(first: 0, last: Int64(size) - 1)
            found = try await target.s3.get(target.object, range: { range }, by: transfer)
        } catch {
            // An empty object has no first byte.
            guard error.status == 416 else { throw error }
            found = try await target.s3.get(target.object, range: { nil }, by: transfer)
        }
        guard let found else { throw S3BackupClient.noSuchObject(target.key) }
        return found
    }

    /// What is whole already is checked before it is written, and needs no tag to go on by.
    @concurrent private func begin(
        _ partial: PartialFile, in file: EmptyFile, _ found: StoredRange
    ) async throws(CloakroomError) -> Found {
        let isWhole = found.body.count == found.objectSize
        if isWhole {
            let check = ObjectCheck(found.object, byteCount: found.objectSize, known: known)
            guard try check.isMet(by: found.objectSize, { take in found.body.withUnsafeBytes { take($0) } }) else {
                partial.discard()
                throw S3BackupClient.wrongBytes(target.key)
            }
        }
        try partial.begin(file, found.body, entityTag: isWhole ? nil : found.object.entityTag)
        return Found(object: found.object, byteCount: found.objectSize, isChecked: isWhole)
    }

    /// Retries for as long as attempts make progress.
    private func fetchRest(of found: Found, into partial: PartialFile) async throws {
        while true {
            let start = partial.byteCount
            guard start < found.byteCount else { return }
            let transfer = client.transfer(
                bytes: found.byteCount - start, to: { .file(partial.url, offset: partial.byteCount) },
                progress: progress.map { observer in
                    { @Sendable _ in
                        let done = partial.byteCount
                        guard done < found.byteCount else { return }
                        observer(TransferProgress(bytesDone: done, bytesTotal: found.byteCount))
                    }
                })
            do {
                let response = try await target.s3.get(
                    target.object, range: { ObjectRange(first: partial.byteCount) },
                    entityTag: found.object.entityTag, by: transfer)
                guard response != nil else { throw S3BackupClient.noSuchObject(target.key) }
                return
            } catch let fault as AWSError where fault.kind == .transient && partial.byteCount >= start + 1 << 20 {
                continue
            }
        }
    }

    @concurrent private func finish(_ found: Found, _ partial: PartialFile) async throws(CloakroomError) {
        if !found.isChecked {
            let check = ObjectCheck(found.object, byteCount: found.byteCount, known: known)
            guard try check.isMet(by: found.byteCount, { take throws(CloakroomError) in try partial.read(take) }) else {
                partial.discard()
                throw S3BackupClient.wrongBytes(target.key)
            }
        }
        try partial.finish(isSynced: isSynced)
    }
}
