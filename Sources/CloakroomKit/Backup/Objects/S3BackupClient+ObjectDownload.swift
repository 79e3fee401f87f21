public import Foundation

extension S3BackupClient {
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
        try await performing("reading", key) {
            try await ObjectDownload(client: self, target: $0, file: file, md5: md5, progress: progress).run()
        }
    }
}
