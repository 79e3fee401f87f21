import CloakroomAWS
public import Foundation

extension S3BackupClient {
    /// Reads a small object whole, and checks it as ``download(_:to:md5:progress:)`` does.
    ///
    /// - Parameters:
    ///   - maximumBytes: a longer one is ``CloakroomError/Code/bodyTooLarge``.
    ///   - md5: what the bytes' MD5 must be, where it is known, such as from the key of a photo.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/noSuchObject`` only when S3 says `NoSuchKey`;
    ///   ``CloakroomError/Code/checksumMismatch``.
    public func get(_ key: String, maximumBytes: Int = 4 << 20, md5: [UInt8]? = nil) async throws -> Data {
        try await performing("reading", key) { target in
            try await budget.spending(maximumBytes) {
                let transfer = readInMemory(maximumBytes)
                guard let found = try await target.s3.get(target.object, range: { nil }, by: transfer) else {
                    throw Self.noSuchObject(key)
                }
                guard found.body.count <= maximumBytes else {
                    throw CloakroomError(.bodyTooLarge, "reading \(key): longer than \(maximumBytes) bytes")
                }
                try await Self.check(found, md5: md5, key: key)
                return Data(found.body)
            }
        }
    }

    /// Reads an object into a file, from where an earlier download of the same object to the same file stopped.
    ///
    /// Until all of it is there, checked and on the disk, it lies hidden beside the file; what was there under the file's
    /// name stays until then. It is checked against its MD5 where S3 knows it: what was stored by one PUT or by this kit,
    /// and not encrypted with a key of KMS; else against `md5` and its length.
    /// - Parameters:
    ///   - file: in a folder that exists.
    ///   - md5: what the bytes' MD5 must be, where it is known, such as from the key of a photo.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/noSuchObject`` only when S3 says `NoSuchKey`;
    ///   ``CloakroomError/Code/diskFull``: what has arrived stays, to continue from;
    ///   ``CloakroomError/Code/checksumMismatch``: nothing stays.
    @discardableResult
    public func download(
        _ key: String, to file: URL, md5: [UInt8]? = nil, progress: TransferProgress.Observer? = nil
    ) async throws -> ObjectInfo {
        try await download(key, to: file, known: KnownBytes(md5: md5), progress: progress)
    }

    /// The same, checked against all that is known of the bytes before they get the file's name.
    ///
    /// - Parameter isSynced: whether the bytes are on the disk when this returns; otherwise the caller sees to it.
    /// - Throws: besides, ``CloakroomError/Code/checksumMismatch`` before most of an object of another size is read.
    @discardableResult
    package func download(
        _ key: String, to file: URL, known: KnownBytes, isSynced: Bool = true,
        progress: TransferProgress.Observer? = nil
    ) async throws -> ObjectInfo {
        try await performing("reading", key) { target in
            let download = ObjectDownload(
                client: self, target: target, file: file, known: known, isSynced: isSynced, progress: progress)
            return try await download.run()
        }
    }

    static func noSuchObject(_ key: String) -> CloakroomError {
        CloakroomError(.noSuchObject, "reading \(key)", status: 404, serverCode: "NoSuchKey")
    }

    static func wrongBytes(_ key: String) -> CloakroomError {
        CloakroomError(.checksumMismatch, "reading \(key): what arrived is not what was stored")
    }

    /// All of an object at once, off the actor.
    @concurrent static func check(_ found: StoredRange, md5: [UInt8]?, key: String) async throws(CloakroomError) {
        let check = ObjectCheck(found.object, byteCount: found.objectSize, known: KnownBytes(md5: md5))
        guard try check.isMet(by: found.objectSize, { take in found.body.withUnsafeBytes { take($0) } }) else {
            throw wrongBytes(key)
        }
    }
}
