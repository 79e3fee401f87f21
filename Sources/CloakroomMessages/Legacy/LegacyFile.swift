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
    static let suffix = ".cloakroom-erased"
    /// What it is called before, while its content is compared: what replaced it in between is not to be erased.
    private static let comparedSuffix = ".cloakroom-compared"
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

    /// What it has, in the order of names: what may be files of messages, the names without ``suffix`` of what is to be
    /// erased, and what has that suffix, but is no such file.
    func names() throws(CloakroomError) -> (files: [String], unfinished: [String], others: [String]) {
        let names: [String]
        do { names = try FileManager.default.contentsOfDirectory(atPath: path).sorted() } catch {
            throw CloakroomError(of: error, otherwise: .unreadableFile, "the folder of older messages")
        }
        let condemned = names.filter { $0.hasSuffix(Self.suffix) }
        let unfinished = condemned.filter { status(of: $0).map(Self.isSingleFile) ?? false }
        return (
            names.filter { !$0.hasSuffix(Self.suffix) }, unfinished.map { String($0.dropLast(Self.suffix.count)) },
            condemned.filter { !unfinished.contains($0) }
        )
    }

    /// The name of a file before a migration that was ended gave it another one.
    static func originalName(of name: String) -> String {
        name.hasSuffix(comparedSuffix) ? String(name.dropLast(comparedSuffix.count)) : name
    }

    /// - Returns: `nil` when there is nothing of that name.
    private func status(of name: String) -> stat? {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    private static func isSingleFile(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
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
        guard fstat(file, &status) == 0, Self.isSingleFile(status) else { throw LegacyFileFault(.otherFile) }
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

    // MARK: Erasing

    /// Says for good that all messages of a file are stored; what is left is to erase it.
    ///
    /// It is renamed twice. What a rename reaches may be another file than the one that was compared before, so it is
    /// compared again under a name that says nothing yet: a process that is killed there leaves a file to be counted.
    ///
    /// - Returns: what ``erase(_:step:)`` takes; `nil` when its bytes are others now: then it stays.
    /// - Throws: ``LegacyFileFault``: something else has a name that is needed.
    func condemn(
        _ name: String, withHash hash: [UInt8], _ hashed: ([UInt8]) -> [UInt8], step: () throws -> Void
    ) throws -> String? {
        let original = Self.originalName(of: name)
        let (compared, condemned) = (original + Self.comparedSuffix, original + Self.suffix)
        for taken in [compared, condemned] where taken != name && status(of: taken) != nil {
            throw LegacyFileFault(.nameTaken(taken))
        }
        guard let bytes = try? read(name), hashed(bytes) == hash else { return nil }
        if compared != name {
            try rename(name, to: compared)
            try step()
        }
        guard let bytes = try? read(compared), hashed(bytes) == hash else {
            try restore(compared, as: original)
            return nil
        }
        try rename(compared, to: condemned)
        return original
    }

    private func rename(_ name: String, to other: String) throws(CloakroomError) {
        try Self.converted { () throws(PrivateFolderError) in
            guard renameat(descriptor, name, descriptor, other) == 0 else { throw .init("rename") }
            try sync(descriptor)
        }
    }

    /// Gives a file its name back, unless another one has it since: then both stay, and are counted.
    private func restore(_ compared: String, as name: String) throws(CloakroomError) {
        guard linkat(descriptor, compared, descriptor, name, 0) == 0 else { return }
        try Self.converted { () throws(PrivateFolderError) in
            guard unlinkat(descriptor, compared, 0) == 0 else { throw .init("unlink") }
            try sync(descriptor)
        }
    }

    /// Goes on where a process was killed while it gave a file its name back, which has two names since.
    func finishRestoring() throws(CloakroomError) {
        for name in try names().files where name.hasSuffix(Self.comparedSuffix) {
            guard let status = status(of: name), let other = self.status(of: Self.originalName(of: name)),
                status.st_mode & S_IFMT == S_IFREG, (status.st_dev, status.st_ino) == (other.st_dev, other.st_ino)
            else { continue }
            try Self.converted { () throws(PrivateFolderError) in
                guard unlinkat(descriptor, name, 0) == 0 else { throw .init("unlink") }
                try sync(descriptor)
            }
        }
    }

    /// Writes zeros over a condemned file, as far as the file system writes in place, and removes it.
    ///
    /// - Returns: `false` for what is no such file: it stays.
    func erase(_ name: String, step: () throws -> Void) throws -> Bool {
        let name = name + Self.suffix
        guard let status = status(of: name) else { return true }
        guard Self.isSingleFile(status) else { return false }
        let file = openat(descriptor, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw Self.failure(.init("open")) }
        defer { close(file) }
        try Self.converted { () throws(PrivateFolderError) in try overwrite(file) }
        try step()
        try Self.converted { () throws(PrivateFolderError) in
            guard ftruncate(file, 0) == 0 else { throw .init("ftruncate") }
            try sync(file)
        }
        try step()
        try Self.converted { () throws(PrivateFolderError) in
            guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else { throw .init("unlink") }
            try sync(descriptor)
        }
        return true
    }

    private func overwrite(_ file: Int32) throws(PrivateFolderError) {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .init("fstat") }
        guard Self.isSingleFile(status) else { throw .init("fstat", number: EPERM) }
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
