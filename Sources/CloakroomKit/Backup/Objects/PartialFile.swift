import CloakroomCrypto
import Foundation

/// What has arrived of a download, beside the file that it is to become, with the entity tag of the object.
package struct PartialFile: Sendable {
    // Paths and not URLs, which are taken apart anew for each use.
    private let path: String
    private let tagPath: String
    private let destination: String
    private let name: String

    /// - Parameter destination: hidden beside it, under a name that is short enough whatever the file's is.
    init(of destination: URL) {
        let whole = destination.path
        let name = whole.lastIndex(of: "/").map { whole[whole.index(after: $0)...] } ?? whole[...]
        let folder = whole[..<name.startIndex]
        self.destination = whole
        self.name = String(name)
        let hidden = Self.hiddenName(of: String(name))
        path = "\(folder)\(hidden).partial"
        tagPath = "\(folder)\(hidden).tag"
    }

    var url: URL { URL(fileURLWithPath: path, isDirectory: false) }

    /// What the names of all files begin with, up to a dot, that are kept beside a file until it is whole.
    package static func hiddenName(of name: String) -> String {
        hiddenPrefix + SHA256.hash(Array(name.utf8)).prefix(12).hexadecimal
    }

    package static let hiddenPrefix = ".cloakroom-"

    /// How many bytes are there; 0 when there is no file.
    var byteCount: Int64 {
        var status = stat()
        // Not what a link leads to.
        return lstat(path, &status) == 0 && status.isRegularFile ? Int64(status.st_size) : 0
    }

    /// Of the object that the bytes are of; `nil` when there is nothing to continue from.
    var entityTag: String? {
        guard byteCount > 0 else { return nil }
        var tag: [UInt8] = []
        do throws(CloakroomError) {
            try read(tagPath) { if tag.count <= Self.maximumTagBytes { tag += $0 } }
        } catch {
            return nil
        }
        return tag.count <= Self.maximumTagBytes ? String(bytes: tag, encoding: .utf8) : nil
    }

    /// Makes the file, without bytes: the file system may take as long for that as for writing them. What was there is
    /// gone.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/unwritableFile``.
    func make() throws(CloakroomError) -> EmptyFile {
        // Never bytes of one object with the tag of another.
        discard()
        return EmptyFile(descriptor: try create(path))
    }

    /// Begins with the first bytes of an object.
    ///
    /// - Parameters:
    ///   - file: what ``make()`` gave.
    ///   - entityTag: `nil` for all its bytes.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/unwritableFile``.
    func begin(_ file: EmptyFile, _ bytes: [UInt8], entityTag: String?) throws(CloakroomError) {
        if let entityTag {
            let tag = EmptyFile(descriptor: try create(tagPath))
            try write(Array(entityTag.utf8), to: tag)
        }
        try write(bytes, to: file)
    }

    /// Makes it the file, in one step, when it is on the disk.
    ///
    /// - Parameter isSynced: `false` for a caller that has the disk hold it later.
    func finish(isSynced: Bool = true) throws(CloakroomError) {
        if isSynced { try sync() }
        guard rename(path, destination) == 0 else { throw failure(errno) }
        unlink(tagPath)
    }

    private func sync() throws(CloakroomError) {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw failure(errno) }
        defer { close(file) }
        guard PrivateFolder.sync(file) else { throw failure(errno) }
    }

    func discard() {
        unlink(path)
        unlink(tagPath)
    }

    /// Hands over its bytes, in order.
    func read(_ take: (UnsafeRawBufferPointer) -> Void) throws(CloakroomError) { try read(path, take) }

    private static let maximumTagBytes = 1024

    /// Never through a link to somewhere else.
    private func read(_ path: String, _ take: (UnsafeRawBufferPointer) -> Void) throws(CloakroomError) {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
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

    /// Never what is there, be it a link to somewhere else.
    private func create(_ path: String) throws(CloakroomError) -> Int32 {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(errno) }
        return file
    }

    private func write(_ bytes: [UInt8], to file: EmptyFile) throws(CloakroomError) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                Foundation.write(file.descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno) }
            done += count
        }
    }

    private func failure(_ number: Int32) -> CloakroomError {
        return number == ENOSPC || number == EDQUOT
            ? CloakroomError(.diskFull, "no room for \(name)")
            : CloakroomError(.unwritableFile, "\(name) could not be written (errno \(number))")
    }
}

/// A file that was just made, open to be written.
final class EmptyFile: Sendable {
    let descriptor: Int32

    init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }
}
