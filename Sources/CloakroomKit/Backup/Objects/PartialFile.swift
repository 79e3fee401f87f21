import CloakroomCrypto
import Foundation

/// What has arrived of a download, beside the file that it is to become, with the entity tag of the object.
struct PartialFile: Sendable {
    let url: URL
    private let tagURL: URL
    private let destination: URL

    /// - Parameter destination: hidden beside it, under a name that is short enough whatever the file's is.
    init(of destination: URL) {
        let name = SHA256.hash(Array(destination.lastPathComponent.utf8)).prefix(12).hexadecimal
        let folder = destination.deletingLastPathComponent()
        url = folder.appendingPathComponent(".cloakroom-\(name).partial", isDirectory: false)
        tagURL = folder.appendingPathComponent(".cloakroom-\(name).tag", isDirectory: false)
        self.destination = destination
    }

    /// How many bytes are there; 0 when there is no file.
    var byteCount: Int64 {
        var status = stat()
        // Not what a link leads to.
        return lstat(url.path, &status) == 0 && status.isRegularFile ? Int64(status.st_size) : 0
    }

    /// Of the object that the bytes are of; `nil` when there is nothing to continue from.
    var entityTag: String? {
        guard byteCount > 0 else { return nil }
        var tag: [UInt8] = []
        do throws(CloakroomError) {
            try read(tagURL) { if tag.count <= Self.maximumTagBytes { tag += $0 } }
        } catch {
            return nil
        }
        return tag.count <= Self.maximumTagBytes ? String(bytes: tag, encoding: .utf8) : nil
    }

    /// Begins with the first bytes of an object.
    ///
    /// - Parameter entityTag: `nil` for all its bytes.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/unwritableFile``.
    func begin(_ bytes: [UInt8], entityTag: String?) throws(CloakroomError) {
        // Never bytes of one object with the tag of another.
        discard()
        if let entityTag { try write(Array(entityTag.utf8), to: tagURL) }
        try write(bytes, to: url)
    }

    /// Makes it the file, in one step, when it is on the disk.
    ///
    /// - Parameter isSynced: `false` for a caller that has the disk hold it later.
    func finish(isSynced: Bool = true) throws(CloakroomError) {
        let file = open(url.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw failure(errno) }
        defer { close(file) }
        guard !isSynced || fsync(file) == 0 else { throw failure(errno) }
        guard rename(url.path, destination.path) == 0 else { throw failure(errno) }
        unlink(tagURL.path)
    }

    func discard() {
        unlink(url.path)
        unlink(tagURL.path)
    }

    /// Hands over its bytes, in order.
    func read(_ take: (UnsafeRawBufferPointer) -> Void) throws(CloakroomError) { try read(url, take) }

    private static let maximumTagBytes = 1024

    /// Never through a link to somewhere else.
    private func read(_ url: URL, _ take: (UnsafeRawBufferPointer) -> Void) throws(CloakroomError) {
        let file = open(url.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw failure(errno) }
        defer { close(file) }
        var piece = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = piece.withUnsafeMutableBytes { Foundation.read(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno) }
            guard count > 0, !Task.isCancelled else { break }
            piece.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
        }
        guard !Task.isCancelled else { throw CloakroomError.cancelled }
    }

    /// Never into what is there, be it a link to somewhere else.
    private func write(_ bytes: [UInt8], to url: URL) throws(CloakroomError) {
        let file = open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(errno) }
        defer { close(file) }
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno) }
            done += count
        }
    }

    private func failure(_ number: Int32) -> CloakroomError {
        let name = destination.lastPathComponent
        return number == ENOSPC || number == EDQUOT
            ? CloakroomError(.diskFull, "no room for \(name)")
            : CloakroomError(.unwritableFile, "\(name) could not be written (errno \(number))")
    }
}
