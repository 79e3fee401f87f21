package import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

/// A file system in memory of a size that a test can use up, where the system lets us have one: Linux, for root.
package struct SmallDisk: Sendable {
    package let url: URL

    package static let isPossible: Bool = {
        guard let disk = try? SmallDisk(byteCount: 1 << 16) else { return false }
        disk.unmount()
        return true
    }()

    package struct DiskError: Error { var number: Int32 }

    /// - Parameters:
    ///   - url: where it is mounted; made when it is not there. `nil` for a folder of its own.
    ///   - maximumFiles: with folders, its own among them; `nil` for as many as there is room for.
    package init(byteCount: Int, at url: URL? = nil, maximumFiles: Int? = nil) throws {
        self.url =
            url ?? FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-disk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
        #if os(Linux)
            let flags = UInt(MS_NOSUID | MS_NODEV)
            let files = maximumFiles.map { ",nr_inodes=\($0)" } ?? ""
            guard mount("tmpfs", self.url.path, "tmpfs", flags, "size=\(byteCount)\(files)") == 0 else {
                let error = DiskError(number: errno)
                if url == nil { rmdir(self.url.path) }
                throw error
            }
        #else
            throw DiskError(number: ENOTSUP)
        #endif
    }

    /// In bytes.
    package var freeBytes: Int {
        get throws {
            var status = statvfs()
            guard statvfs(url.path, &status) == 0 else { throw DiskError(number: errno) }
            return Int(status.f_bavail) * Int(status.f_frsize)
        }
    }

    private var ballast: URL { url.appendingPathComponent("ballast") }

    /// - Parameter rest: how many bytes stay free, to a page.
    package func fill(leaving rest: Int = 0) throws {
        let descriptor = open(ballast.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DiskError(number: errno) }
        defer { close(descriptor) }
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        while try freeBytes > rest {
            let count = min(try freeBytes - rest, piece.count)
            guard write(descriptor, piece, count) > 0 else {
                if errno == ENOSPC { return }
                throw DiskError(number: errno)
            }
        }
    }

    /// Undoes ``fill(leaving:)``.
    ///
    /// The space is free when it returns, also while a process that another test is just starting has the file open.
    package func empty() throws {
        guard truncate(ballast.path, 0) == 0 else { throw DiskError(number: errno) }
        try FileManager.default.removeItem(at: ballast)
    }

    /// - Parameter count: as in ``init(byteCount:at:maximumFiles:)``.
    package func allow(files count: Int) throws {
        #if os(Linux)
            let flags = UInt(MS_REMOUNT | MS_NOSUID | MS_NODEV)
            guard mount("tmpfs", url.path, "tmpfs", flags, "nr_inodes=\(count)") == 0 else {
                throw DiskError(number: errno)
            }
        #endif
    }

    package func unmount() {
        #if os(Linux)
            // What still has a file open there keeps the space, and no name.
            umount2(url.path, Int32(MNT_DETACH))
        #endif
        rmdir(url.path)
    }
}
