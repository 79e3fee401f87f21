import Glibc

/// The file of this program: where it lies, and whether another lies there now.
struct ProgramFile: Sendable {
    /// What the path leads to now: after an upgrade, the new program.
    let path: String

    init(path: String = ProgramFile.calledPath) { self.path = path }

    /// Whether the path leads to another file than the one this process runs; false where that cannot be told.
    var isReplaced: Bool {
        guard let own = FileIdentity("/proc/self/exe"), let now = FileIdentity(path) else { return false }
        return own != now
    }

    /// What this process was started by.
    private static var calledPath: String {
        let name = CommandLine.arguments[0]
        return name.contains("/") ? name : ownPath ?? "/proc/self/exe"
    }

    /// Read before the file can have been replaced (proc(5)).
    private static var ownPath: String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        guard count > 0, count < bytes.count else { return nil }
        return String(validating: bytes[..<count], as: UTF8.self)
    }
}
