#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// An open file of a ``PrivateFolder``, to be read or written in pieces.
package struct PrivateFile: ~Copyable {
    private let descriptor: Int32

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    package func byteCount() throws(PrivateFolderError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .init("fstat") }
        return Int(status.st_size)
    }

    /// - Returns: fewer bytes than `count` only at the end of the file.
    package func read(at offset: Int, count: Int) throws(PrivateFolderError) -> [UInt8] {
        var failure: PrivateFolderError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let more = pread(
                    descriptor, buffer.baseAddress.map { $0 + initialized }, count - initialized,
                    off_t(offset + initialized))
                if more < 0, errno == EINTR { continue }
                if more < 0 { failure = .init("read") }
                guard more > 0 else { return }
                initialized += more
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes behind what was written before.
    package func append(_ bytes: [UInt8]) throws(PrivateFolderError) {
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeBytes { buffer in
                write(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
            }
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { throw .init("write", number: more == 0 ? ENOSPC : errno) }
            count += more
        }
    }

    /// Has the bytes survive a loss of power.
    package func sync() throws(PrivateFolderError) {
        guard PrivateFolder.sync(descriptor) else { throw .init("fsync") }
    }
}

extension PrivateFolder {
    /// - Returns: `nil` when there is no such file.
    /// - Throws: also for what is not a regular file, such as a symbolic link, and for one that others can access.
    package func file(_ name: String) throws(PrivateFolderError) -> PrivateFile? {
        // Without O_NONBLOCK a pipe of that name would hold us for ever.
        let descriptor = openat(self.descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw .init("open") }
            return nil
        }
        let file = PrivateFile(descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0,
            status.st_uid == geteuid()
        else { throw .init("fstat", number: EPERM) }
        return file
    }

    /// A new file, of mode 0600.
    ///
    /// - Throws: also when there is one of that name.
    package func newFile(_ name: String) throws(PrivateFolderError) -> PrivateFile {
        let descriptor = openat(
            self.descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .init("open") }
        return PrivateFile(descriptor)
    }

    /// What removeRemains(of:) finds when the process is killed before the file has its name.
    package static func temporaryName(for name: String) -> String {
        "\(name)\(infix)\(UInt64.random(in: .min ... .max))"
    }
}
