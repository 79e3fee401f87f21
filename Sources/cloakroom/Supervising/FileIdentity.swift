import Glibc

/// Which file a path leads to at one moment: another one at the same path has another identity.
struct FileIdentity: Equatable {
    let device: UInt
    let number: UInt
    /// A number may be used again once its file is gone.
    private let seconds: Int
    private let nanoseconds: Int

    /// - Returns: `nil` where there is no file, or it cannot be told.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// - Parameter descriptor: of the file, open; the path may lead to another one.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt(status.st_dev)
        number = UInt(status.st_ino)
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
    }
}
