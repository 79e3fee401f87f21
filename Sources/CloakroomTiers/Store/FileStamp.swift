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

/// Which file a name leads to, and whether it was written since: what was read of a file counts while it stays the same.
struct FileStamp: Sendable, Equatable {
    /// When it was last written.
    let modified: Date
    private let device: UInt64
    private let number: UInt64
    private let byteCount: Int64
    /// Of its bytes, and of its record: seconds and nanoseconds.
    private let times: [Int]

    /// - Returns: `nil` when there is no regular file.
    init?(of file: URL) {
        guard let status = StoreFolder.status(file) else { return nil }
        #if canImport(Darwin)
            let (written, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (written, changed) = (status.st_mtim, status.st_ctim)
        #endif
        modified = Date(modified: status)
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
        byteCount = Int64(status.st_size)
        times = [Int(written.tv_sec), Int(written.tv_nsec), Int(changed.tv_sec), Int(changed.tv_nsec)]
    }
}
