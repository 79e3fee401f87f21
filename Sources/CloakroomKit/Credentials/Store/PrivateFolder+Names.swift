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

extension PrivateFolder {
    /// What the folder has, in no order.
    package func names() throws(PrivateFolderError) -> [String] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw .init("readdir", number: EIO)
        }
        return names
    }

    /// Gives a file another name, in one step; what had that name is replaced. It survives a loss of power.
    package func rename(_ name: String, to target: String) throws(PrivateFolderError) {
        guard renameat(descriptor, name, descriptor, target) == 0 else { throw .init("rename") }
        try syncNames()
    }

    /// Has the names in the folder survive a loss of power.
    package func syncNames() throws(PrivateFolderError) {
        guard Self.sync(descriptor) else { throw .init("fsync") }
    }

    /// As ``write(_:to:)``, and zeros are written over the content that the file had, as far as the file system writes in
    /// place: flash memory and snapshots may keep it.
    ///
    /// When it throws, the file is as it was.
    package func replace(_ name: String, with bytes: [UInt8]) throws(PrivateFolderError) {
        try eraseRemains(of: name)
        // A second name, so that a process which is killed in between leaves a file to find.
        linkat(descriptor, name, descriptor, Self.former(name), 0)
        let former = openat(descriptor, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        defer { if former >= 0 { close(former) } }
        do throws(PrivateFolderError) {
            try write(bytes, to: name)
        } catch {
            unlinkat(descriptor, Self.former(name), 0)
            throw error
        }
        // The new content is in place: what fails now must not say that it is not.
        _ = Self.sync(descriptor)
        if former >= 0 { try? Self.overwrite(former) }
        unlinkat(descriptor, Self.former(name), 0)
    }

    /// Writes zeros over a file, and removes it; none is no error.
    package func erase(_ name: String) throws(PrivateFolderError) {
        let file = openat(descriptor, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if file >= 0 {
            defer { close(file) }
            try Self.overwrite(file)
        }
        try remove(name)
        try syncNames()
    }

    /// Erases what a ``replace(_:with:)`` that was interrupted left.
    package func eraseRemains(of name: String) throws(PrivateFolderError) {
        for remains in try names() where remains.hasPrefix(name + Self.infix) { try erase(remains) }
        var former = stat()
        guard fstatat(descriptor, Self.former(name), &former, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        var current = stat()
        let isCurrent =
            fstatat(descriptor, name, &current, AT_SYMLINK_NOFOLLOW) == 0 && current.st_ino == former.st_ino
        // Both are one file when it was interrupted before the new one had its name.
        if isCurrent { try remove(Self.former(name)) } else { try erase(Self.former(name)) }
    }

    private static func former(_ name: String) -> String { name + ".former" }

    private static func overwrite(_ file: Int32) throws(PrivateFolderError) {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .init("fstat") }
        guard status.st_mode & S_IFMT == S_IFREG else { return }
        let zeros = [UInt8](repeating: 0, count: 4096)
        var offset: off_t = 0
        while offset < status.st_size {
            let count = pwrite(file, zeros, Int(min(off_t(zeros.count), status.st_size - offset)), offset)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .init("write", number: count == 0 ? ENOSPC : errno) }
            offset += off_t(count)
        }
        guard sync(file) else { throw .init("fsync") }
    }
}

extension CloakroomError {
    /// - Parameter store: what could not be read or written, such as "the keys".
    package init(_ error: PrivateFolderError, of store: String) {
        switch error.number {
        case ENOSPC, EDQUOT: self.init(.diskFull, "no space is left for \(store): \(error.call)")
        default: self.init(.storeFailed, "\(store): \(error.call) failed with \(error.number)")
        }
    }
}
