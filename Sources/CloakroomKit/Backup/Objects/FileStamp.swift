package import Foundation

/// Shows without reading that a file is unchanged: by stat(2), as git's index does.
package struct FileStamp: Sendable, Hashable {
    let device: UInt64
    let inode: UInt64
    let byteCount: Int64
    /// In nanoseconds since 1970. The second is set by the system alone: it shows changes with a backdated time.
    let modified: Int64
    let changed: Int64

    init(_ status: stat) {
        #if canImport(Darwin)
            let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        byteCount = Int64(status.st_size)
        self.modified = Self.nanoseconds(modified)
        self.changed = Self.nanoseconds(changed)
    }

    /// Of a regular file, itself and not what a symbolic link leads to.
    ///
    /// - Throws: ``CloakroomError/Code/unreadableFile``.
    package init(path: String) throws(CloakroomError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw .unreadable(path, errno) }
        guard status.isRegularFile else {
            throw CloakroomError(.unreadableFile, "\(path) is not a regular file")
        }
        self.init(status)
    }

    /// When it was last written.
    package var date: Date { Date(timeIntervalSince1970: Double(modified) / 1_000_000_000) }

    /// Whether nothing was written in between. The system changes ``changed`` also when attributes are set, as it does
    /// by itself.
    package func isOfSameBytes(as other: FileStamp) -> Bool {
        (device, inode, byteCount, modified) == (other.device, other.inode, other.byteCount, other.modified)
    }

    /// Whether so much time lies between the last change and `time` that another change would show: file systems count
    /// in steps, of up to two seconds (FAT).
    func isSettled(at time: Date) -> Bool {
        Double(max(modified, changed)) < (time.timeIntervalSince1970 - 2) * 1_000_000_000
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension stat {
    var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    var isFolder: Bool { st_mode & S_IFMT == S_IFDIR }
}

extension CloakroomError {
    static func unreadable(_ path: String, _ number: Int32) -> CloakroomError {
        CloakroomError(.unreadableFile, "\(path): \(String(cString: strerror(number)))")
    }
}
