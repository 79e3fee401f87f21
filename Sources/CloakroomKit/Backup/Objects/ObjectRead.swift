import CloakroomCrypto
package import CloakroomAWS
package import Foundation

/// The digests of an object's bytes, as they were read.
package struct ObjectDigests: Sendable, Equatable {
    package let sha256: [UInt8]
    package let md5: [UInt8]
}

extension S3BackupClient {
    /// Reads an object back and hashes it; it is not kept, in memory or anywhere.
    ///
    /// - Parameter stored: what HEAD said of it: the bytes must be of that object, however many requests they come by.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/conditionFailed`` when it is another object by now,
    ///   ``CloakroomError/Code/noSuchObject`` when S3 says `NoSuchKey`.
    package func digests(of stored: StoredObject, at key: String) async throws -> ObjectDigests {
        try await performing("reading back", key) { target in
            guard let byteCount = stored.byteCount else { throw Self.unknownSize(key) }
            let read = ObjectRead(client: self, target: target, expected: stored, maximumBytes: Int64(byteCount))
            return try await read.digests()
        }
    }

    /// Reads an object whole, as ``get(_:maximumBytes:md5:)`` does, but with room in memory for what it has, not for
    /// what it might.
    package func contents(of key: String, maximumBytes: Int64) async throws -> Data {
        try await performing("reading", key) { target in
            try await ObjectRead(client: self, target: target, expected: nil, maximumBytes: maximumBytes).data()
        }
    }

    /// The SHA-256 of a file that has the bytes of an object which was uploaded in parts.
    ///
    /// - Returns: `nil` when the parts' size is not known, or the file has other bytes.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile``.
    @concurrent package static func sha256(
        of file: URL, ifPartsOf stored: StoredObject
    ) async throws(CloakroomError) -> [UInt8]? {
        let file = try UploadFile(file)
        guard stored.byteCount.map({ Int64($0) }) == file.byteCount else { return nil }
        let check = ObjectCheck(stored, byteCount: file.byteCount, known: KnownBytes())
        guard case .parts = check else { return nil }
        var sha256 = SHA256()
        let isMet = try check.isMet(by: file.byteCount) { take throws(CloakroomError) in
            try file.pieces(0..<file.byteCount) { piece in
                sha256.update(piece)
                take(piece)
            }
        }
        try file.checkUnchanged()
        return isMet ? sha256.finalize() : nil
    }
}

/// The reading of one object, a few MiB at a time.
struct ObjectRead {
    let client: S3BackupClient
    let target: ObjectTarget
    /// `nil` for whatever object there is.
    let expected: StoredObject?
    /// Of the object; a longer one is ``CloakroomError/Code/bodyTooLarge``.
    let maximumBytes: Int64

    @concurrent func digests() async throws -> ObjectDigests {
        var sha256 = SHA256()
        var md5 = MD5()
        _ = try await run { piece in
            sha256.update(piece)
            md5.update(piece)
        }
        return ObjectDigests(sha256: sha256.finalize(), md5: md5.finalize())
    }

    @concurrent func data() async throws -> Data {
        var data = Data()
        let object = try await run { data.append(contentsOf: $0) }
        let check = ObjectCheck(object, byteCount: Int64(data.count), known: KnownBytes())
        guard try check.isMet(by: Int64(data.count), { take in data.withUnsafeBytes { take($0) } }) else {
            throw S3BackupClient.wrongBytes(target.key)
        }
        return data
    }

    private func run(_ take: (UnsafeRawBufferPointer) -> Void) async throws -> StoredObject {
        // It has no first byte.
        if let expected, expected.byteCount == 0 { return expected }
        var object = expected
        var done: Int64 = 0
        let size = client.sizes.firstRange
        while true {
            let found = try await client.budget.spending(size) {
                let found = try await piece(at: done, size, of: object)
                found.body.withUnsafeBytes { take($0) }
                return Piece(object: found.object, byteCount: found.body.count, objectSize: found.objectSize)
            }
            object = found.object
            done += Int64(found.byteCount)
            if done == found.objectSize { return found.object }
        }
    }

    private struct Piece: Sendable {
        let object: StoredObject
        let byteCount: Int
        let objectSize: Int64
    }

    /// - Parameter object: that it must be of.
    func piece(at start: Int64, _ size: Int, of object: StoredObject?) async throws -> StoredRange {
        let range = ObjectRange(first: start, last: start + Int64(size) - 1)
        let transfer = client.readInMemory(size)
        let found: StoredRange?
        do throws(AWSError) {
            found = try await target.s3.get(
                target.object, range: { range }, entityTag: object?.entityTag, by: transfer)
        } catch {
            // An empty object has no first byte.
            guard error.status == 416, start == 0 else { throw error }
            found = try await target.s3.get(target.object, range: { nil }, by: transfer)
        }
        guard let found else { throw S3BackupClient.noSuchObject(target.key) }
        guard found.objectSize <= maximumBytes else {
            throw CloakroomError(.bodyTooLarge, "reading \(target.key): longer than \(maximumBytes) bytes")
        }
        // A store without conditions does not look at the tag, and a tag may be that of other bytes too.
        if let object {
            guard found.object.entityTag == object.entityTag, found.object.versionID == object.versionID,
                found.object.lastModified == object.lastModified, start < found.objectSize
            else { throw CloakroomError(.conditionFailed, "reading \(target.key): it is another object by now") }
        }
        guard found.body.count == min(Int64(size), found.objectSize - start) else {
            throw CloakroomError(.invalidResponse, "reading \(target.key): S3 sent other bytes than were requested")
        }
        return found
    }
}
