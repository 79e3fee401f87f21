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

/// A folder that only this user can access, held open: mode 0700, its files 0600. Symbolic links in it are never followed.
package struct PrivateFolder: ~Copyable {
    let descriptor: Int32
    let path: String

    /// Makes the folder where there is none, and shuts others out of one that they can enter.
    package init(making path: String) throws(PrivateFolderError) {
        try self.init(path) { path throws(PrivateFolderError) in
            do {
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw .init("mkdir", number: (error as NSError).systemNumber)
            }
        }
    }

    /// - Returns: `nil` when there is no folder.
    package static func existing(at path: String) throws(PrivateFolderError) -> PrivateFolder? {
        do {
            return try PrivateFolder(path) { _ throws(PrivateFolderError) in }
        } catch {
            guard error.number == ENOENT else { throw error }
            return nil
        }
    }

    private init(
        _ path: String, prepare: (String) throws(PrivateFolderError) -> Void
    ) throws(PrivateFolderError) {
        try prepare(path)
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .init("open") }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0 || fchmod(descriptor, 0o700) == 0
        else {
            close(descriptor)
            throw .init("fstat", number: EPERM)
        }
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// The content of a file in the folder.
    package enum Content: Equatable {
        case bytes([UInt8])
        case missing
        /// Not a regular file, another user's, readable by others, or too long.
        case unfit
    }

    package func read(_ name: String, maximumByteCount: Int) throws(PrivateFolderError) -> Content {
        // Without O_NONBLOCK a pipe of that name would hold us for ever.
        let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            switch errno {
            case ENOENT: return .missing
            case ELOOP, EACCES, ENXIO, EMLINK: return .unfit
            default: throw .init("open")
            }
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .init("fstat") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0, status.st_uid == geteuid(),
            status.st_size <= maximumByteCount
        else { return .unfit }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes { buffer in
                systemRead(file, buffer.baseAddress! + count, buffer.count - count)
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw .init("read") }
            // Shorter than it was a moment ago.
            if more == 0 { return .unfit }
            count += more
        }
        return .bytes(bytes)
    }

    /// The whole file or none of it, whatever happens meanwhile.
    package func write(_ bytes: [UInt8], to name: String) throws(PrivateFolderError) {
        try written(bytes, for: name) { temporary throws(PrivateFolderError) in
            guard renameat(descriptor, temporary, descriptor, name) == 0 else { throw .init("rename") }
        }
    }

    /// The same, unless there is a file already.
    ///
    /// - Returns: whether there was none.
    package func create(_ name: String, with bytes: [UInt8]) throws(PrivateFolderError) -> Bool {
        var isNew = true
        try written(bytes, for: name) { temporary throws(PrivateFolderError) in
            if linkat(descriptor, temporary, descriptor, name, 0) != 0 {
                guard errno == EEXIST else { throw .init("link") }
                isNew = false
            }
            unlinkat(descriptor, temporary, 0)
        }
        return isNew
    }

    private func written(
        _ bytes: [UInt8], for name: String, settle: (_ temporary: String) throws(PrivateFolderError) -> Void
    ) throws(PrivateFolderError) {
        let temporary = "\(name)\(Self.infix)\(UInt64.random(in: .min ... .max))"
        let file = openat(descriptor, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .init("open") }
        do throws(PrivateFolderError) {
            do throws(PrivateFolderError) {
                try Self.write(bytes, to: file)
                guard Self.sync(file) else { throw .init("fsync") }
            } catch {
                close(file)
                throw error
            }
            guard close(file) == 0 else { throw .init("close") }
            try settle(temporary)
        } catch {
            unlinkat(descriptor, temporary, 0)
            throw error
        }
        // The name has to survive, too; a folder that cannot be synced does no harm.
        _ = Self.sync(descriptor)
    }

    private static func write(_ bytes: [UInt8], to file: Int32) throws(PrivateFolderError) {
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeBytes { systemWrite(file, $0.baseAddress! + count, $0.count - count) }
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { throw .init("write", number: more == 0 ? ENOSPC : errno) }
            count += more
        }
    }

    /// No error when there is nothing of that name.
    package func remove(_ name: String) throws(PrivateFolderError) {
        guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else { throw .init("unlink") }
    }

    /// Removes temporary files of processes that were killed while writing.
    package func removeRemains(of name: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        for remains in names where remains.hasPrefix(name + Self.infix) { unlinkat(descriptor, remains, 0) }
    }

    static let infix = ".new-"

    /// Has what was written survive a loss of power.
    package static func sync(_ file: Int32) -> Bool {
        #if canImport(Darwin)
            // There, fsync alone does not reach the medium; file systems that cannot do better have fsync.
            if fcntl(file, F_FULLFSYNC) == 0 { return true }
        #endif
        return fsync(file) == 0
    }
}

/// A call that failed.
package struct PrivateFolderError: Error, Equatable {
    package let call: String
    /// `errno`.
    package let number: Int32

    package init(_ call: String, number: Int32 = errno) {
        self.call = call
        self.number = number
    }
}

extension NSError {
    fileprivate var systemNumber: Int32 {
        if domain == NSPOSIXErrorDomain { return Int32(truncatingIfNeeded: code) }
        if domain == NSCocoaErrorDomain, code == CocoaError.fileWriteOutOfSpace.rawValue { return ENOSPC }
        return (userInfo[NSUnderlyingErrorKey] as? any Error).map { ($0 as NSError).systemNumber } ?? EIO
    }
}

// `read` and `write` are methods here.
private func systemRead(_ file: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(file, buffer, count)
}

private func systemWrite(_ file: Int32, _ buffer: UnsafeRawPointer, _ count: Int) -> Int {
    write(file, buffer, count)
}
