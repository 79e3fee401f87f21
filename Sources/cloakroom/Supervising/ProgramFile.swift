import Glibc

/// The file of this program: where it lies, and whether another lies there now.
struct ProgramFile: Sendable {
    /// What the path leads to now: after an upgrade, the new program.
    let path: String

    /// The file that this process runs, also when another lies at its path, or none (proc(5)).
    static let own = "/proc/self/exe"

    init(path: String = ProgramFile.calledPath) { self.path = path }

    /// Whether the path leads to another file than the one this process runs; false where that cannot be told.
    var isReplaced: Bool {
        guard let own = FileIdentity(Self.own), let now = FileIdentity(path) else { return false }
        return own != now
    }

    /// What this process was started by.
    private static var calledPath: String {
        let name = CommandLine.arguments[0]
        return name.contains("/") ? name : ownPath ?? own
    }

    /// Read before the file can have been replaced (proc(5)).
    private static var ownPath: String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(own, &bytes, bytes.count)
        guard count > 0, count < bytes.count else { return nil }
        return String(validating: bytes[..<count], as: UTF8.self)
    }
}
