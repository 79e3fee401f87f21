import Glibc

/// The file of this program: where it lies, and whether another lies there now.
struct ProgramFile: Sendable {
    /// What the path leads to now: after an upgrade, the new program.
    let path: String

    init() {
        let name = CommandLine.arguments[0]
        path = name.contains("/") ? name : Self.ownPath ?? "/proc/self/exe"
    }

    /// Whether the path leads to another file than the one this process runs; false where that cannot be told.
    var isReplaced: Bool {
        guard let own = Identity("/proc/self/exe"), let now = Identity(path) else { return false }
        return own != now
    }

    private struct Identity: Equatable {
        let device: UInt
        let number: UInt
        let seconds: Int

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt(status.st_dev)
            number = UInt(status.st_ino)
            seconds = status.st_mtim.tv_sec
        }
    }

    /// Read before the file can have been replaced (proc(5)).
    private static var ownPath: String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        guard count > 0, count < bytes.count else { return nil }
        return String(validating: bytes[..<count], as: UTF8.self)
    }
}
