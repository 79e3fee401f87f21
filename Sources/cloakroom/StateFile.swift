import Glibc
import CloakroomJSON

/// A JSON file that is there whole or not at all, and that only one process uses.
///
/// It may lie in a folder where others write: no symbolic link is followed.
final class StateFile {
    struct FileError: Error, CustomStringConvertible {
        let description: String
    }

    private static let maximumBytes = 1 << 20

    let path: String
    private let lock: Int32
    private var lockPath: String { path + ".lock" }

    /// - Throws: when another process has it.
    init(path: String) throws(FileError) {
        self.path = path
        lock = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Self.failure(path + ".lock") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw FileError(description: "\(path) is in use: another run is under way")
        }
    }

    deinit {
        // A process that is being started has the descriptor, too, until it runs its program.
        flock(lock, LOCK_UN)
        close(lock)
    }

    /// - Returns: `nil` when there is no file.
    func read() throws(FileError) -> JSON? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw Self.failure(path) }
            return nil
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= Self.maximumBytes {
            let count = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else { throw Self.failure(path) }
            if count == 0 { break }
            bytes += piece[..<count]
        }
        do throws(JSONError) { return try JSON(parsing: bytes) } catch {
            throw FileError(description: "\(path) is no state of this command; delete it, or name another with --state")
        }
    }

    /// Returns when the disk has it.
    func write(_ state: JSON) throws(FileError) { try Self.write(state.text + "\n", to: path) }

    /// When all is done there is nothing to go on with.
    func remove() {
        unlink(path)
        unlink(lockPath)
    }

    /// Puts a file in place of whatever is there.
    static func write(_ text: String, to path: String) throws(FileError) {
        let temporary = "\(path).\(getpid()).new"
        // Of an earlier process with this number, or what another put there.
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure(temporary) }
        let bytes = Array(text.utf8)
        let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        let isSafe = written == bytes.count && fsync(descriptor) == 0
        guard close(descriptor) == 0, isSafe, rename(temporary, path) == 0 else {
            let fault = failure(path)
            unlink(temporary)
            throw fault
        }
    }

    private static func failure(_ path: String) -> FileError {
        FileError(description: "\(path): \(String(cString: strerror(errno)))")
    }
}
