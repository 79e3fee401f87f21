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

/// The folder of an older app's files, held open.
struct LegacyFolder: ~Copyable {
    private let descriptor: Int32
    private let path: String

    /// What a file is called from the moment on that its messages are stored: only erasing is left to be done.
    private static let suffix = ".cloakroom-erased"
    private static let largest = 64 << 20

    /// - Returns: `nil` when there is no folder.
    static func existing(at url: URL) throws(CloakroomError) -> LegacyFolder? {
        let descriptor = open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw failure(.init("open")) }
        return LegacyFolder(descriptor: descriptor, path: url.path)
    }

    private init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// What it has, in the order of names, and what is to be erased of that.
    func names() throws(CloakroomError) -> (files: [String], unfinished: [String]) {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path).sorted() } catch {
            throw CloakroomError(of: error, otherwise: .unreadableFile, "the folder of older messages")
        }
        let unfinished = names.filter { $0.hasSuffix(Self.suffix) }.map { String($0.dropLast(Self.suffix.count)) }
        return (names.filter { !$0.hasSuffix(Self.suffix) }, unfinished)
    }

    /// The content of a file, which is no symbolic link and has no second name.
    func read(_ name: String) throws(LegacyFileFault) -> [UInt8] {
        // Without O_NONBLOCK a pipe of that name would hold us for ever.
        let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            throw LegacyFileFault(errno == ELOOP ? .otherFile : .unreadable(Self.failure(.init("open"))))
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else {
            throw LegacyFileFault(.otherFile)
        }
        guard status.st_size <= Self.largest else { throw .damaged("it has more than 64 MiB") }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes { buffer in
                pread(file, buffer.baseAddress.map { $0 + count }, buffer.count - count, off_t(count))
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw LegacyFileFault(.unreadable(Self.failure(.init("read")))) }
            // Shorter than it was a moment ago.
            guard more > 0 else { throw LegacyFileFault(.changed) }
            count += more
        }
        return bytes
    }

    /// Says for good that all messages of a file are stored; what is left is to erase it.
    ///
    /// - Returns: `false` when its bytes are others now: then it stays.
    /// - Throws: also when there is an unfinished one of that name.
    func condemn(
        _ name: String, withHash hash: [UInt8], _ hashed: ([UInt8]) -> [UInt8]
    ) throws(CloakroomError) -> Bool {
        guard let bytes = try? read(name), hashed(bytes) == hash else { return false }
        let condemned = name + Self.suffix
        try Self.converted { () throws(PrivateFolderError) in
            guard faccessat(descriptor, condemned, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else {
                throw .init("rename", number: EEXIST)
            }
            guard renameat(descriptor, name, descriptor, condemned) == 0 else { throw .init("rename") }
            try sync(descriptor)
        }
        // Replaced by another file in between.
        if let bytes = try? read(condemned), hashed(bytes) == hash { return true }
        try Self.converted { () throws(PrivateFolderError) in
            guard linkat(descriptor, condemned, descriptor, name, 0) == 0 else { throw .init("link") }
            guard unlinkat(descriptor, condemned, 0) == 0 else { throw .init("unlink") }
            try sync(descriptor)
        }
        return false
    }

    /// Writes zeros over a condemned file, as far as the file system writes in place, and removes it.
    func erase(_ name: String, step: () throws -> Void) throws {
        let name = name + Self.suffix
        let file = openat(descriptor, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if file >= 0 {
            defer { close(file) }
            try Self.converted { () throws(PrivateFolderError) in try overwrite(file) }
            try step()
            try Self.converted { () throws(PrivateFolderError) in
                guard ftruncate(file, 0) == 0 else { throw .init("ftruncate") }
                try sync(file)
            }
            try step()
        } else if errno != ENOENT {
            throw Self.failure(.init("open"))
        }
        try Self.converted { () throws(PrivateFolderError) in
            guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else { throw .init("unlink") }
            try sync(descriptor)
        }
    }

    private func overwrite(_ file: Int32) throws(PrivateFolderError) {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .init("fstat") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else { throw .init("fstat", number: EPERM) }
        let zeros = [UInt8](repeating: 0, count: 65_536)
        var offset: off_t = 0
        while offset < status.st_size {
            let count = pwrite(file, zeros, Int(min(off_t(zeros.count), status.st_size - offset)), offset)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .init("write", number: count == 0 ? ENOSPC : errno) }
            offset += off_t(count)
        }
        try sync(file)
    }

    private func sync(_ file: Int32) throws(PrivateFolderError) {
        guard PrivateFolder.sync(file) else { throw .init("fsync") }
    }

    private static func failure(_ error: PrivateFolderError) -> CloakroomError {
        switch error.number {
        case EACCES, EPERM: CloakroomError(.unreadableFile, "older messages: \(error.call) is not permitted")
        default: CloakroomError(error, of: "older messages")
        }
    }

    private static func converted<Value>(
        _ work: () throws(PrivateFolderError) -> Value
    ) throws(CloakroomError) -> Value {
        do throws(PrivateFolderError) { return try work() } catch { throw failure(error) }
    }
}
