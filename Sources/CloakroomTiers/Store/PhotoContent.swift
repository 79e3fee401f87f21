import CloakroomCrypto
import CloakroomKit
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What the bytes of a file are, read once.
struct PhotoContent: Sendable, Equatable {
    var sha256: [UInt8]
    var md5: [UInt8]
    var byteCount: Int64
    var format: String

    /// Reads a file, and copies it on its way.
    ///
    /// - Parameter copy: made for its user alone, and on the disk when this returns; nothing stays of it after an error.
    /// - Throws: ``CloakroomError/Code/unreadableFile``, also when the file changes meanwhile;
    ///   ``CloakroomError/Code/diskFull``.
    @concurrent init(of file: URL, copiedTo copy: URL? = nil) async throws(CloakroomError) {
        let source = open(file.path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw Self.unreadable(file) }
        defer { close(source) }
        let before = try Self.status(source, file)
        guard let copy else {
            self = try Self.read(source, file, to: nil)
            try Self.checkUnchanged(source, file, before, self)
            return
        }
        let target = open(copy.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw .file("make", copy) }
        defer { close(target) }
        do throws(CloakroomError) {
            self = try Self.read(source, file, to: target)
            try Self.checkUnchanged(source, file, before, self)
            guard PrivateFolder.sync(target) else { throw .file("sync", copy) }
        } catch {
            // Empty first: a process that is being started may have the file open for a moment longer, and with it its room.
            _ = ftruncate(target, 0)
            unlink(copy.path)
            throw error
        }
    }

    init(sha256: [UInt8], md5: [UInt8], byteCount: Int64, format: String) {
        self.sha256 = sha256
        self.md5 = md5
        self.byteCount = byteCount
        self.format = format
    }

    private static func read(_ source: Int32, _ file: URL, to target: Int32?) throws(CloakroomError) -> PhotoContent {
        var sha256 = SHA256()
        var md5 = MD5()
        var head: [UInt8] = []
        var byteCount: Int64 = 0
        var piece = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            guard !Task.isCancelled else { throw CloakroomError.cancelled }
            let count = piece.withUnsafeMutableBytes { systemRead(source, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(file) }
            guard count > 0 else { break }
            byteCount += Int64(count)
            let missing = PhotoFormat.headByteCount - head.count
            if missing > 0 { head += piece[..<min(count, missing)] }
            piece.withUnsafeBytes { bytes in
                let read = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                sha256.update(read)
                md5.update(read)
            }
            if let target { try write(piece[..<count], to: target, file) }
        }
        return PhotoContent(
            sha256: sha256.finalize(), md5: md5.finalize(), byteCount: byteCount, format: PhotoFormat.sniff(head))
    }

    /// - Parameter file: for errors.
    static func write(_ bytes: ArraySlice<UInt8>, to target: Int32, _ file: URL) throws(CloakroomError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(target, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .file("copy", file, number: count == 0 ? ENOSPC : errno) }
            rest = rest.dropFirst(count)
        }
    }

    private static func status(_ descriptor: Int32, _ file: URL) throws(CloakroomError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unreadable(file) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CloakroomError(.unreadableFile, "\(file.lastPathComponent) is no regular file")
        }
        return status
    }

    private static func checkUnchanged(
        _ source: Int32, _ file: URL, _ before: stat, _ content: PhotoContent
    ) throws(CloakroomError) {
        let after = try status(source, file)
        #if canImport(Darwin)
            let (first, second) = (before.st_mtimespec, after.st_mtimespec)
        #else
            let (first, second) = (before.st_mtim, after.st_mtim)
        #endif
        guard Int64(after.st_size) == content.byteCount, first.tv_sec == second.tv_sec, first.tv_nsec == second.tv_nsec
        else { throw CloakroomError(.unreadableFile, "\(file.lastPathComponent) changed while it was read") }
    }

    private static func unreadable(_ file: URL) -> CloakroomError {
        CloakroomError(.unreadableFile, "\(file.lastPathComponent): \(String(cString: strerror(errno)))")
    }
}

// `read` and `write` are functions here.
private func systemRead(_ file: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(file, buffer, count)
}

private func systemWrite(_ file: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(file, buffer, count)
}
