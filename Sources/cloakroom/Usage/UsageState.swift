import Glibc
import CloakroomOperations
import CloakroomServer

/// The file that lets an interrupted scan go on where it stopped.
final class UsageState {
    struct StateError: Error, CustomStringConvertible {
        let description: String
    }

    private let path: String
    private let descriptor: Int32
    /// What earlier runs counted.
    let totals: UsageTotals

    /// Makes the file, or goes on with it; two scans at once do not share one.
    init(path: String, subject: UsageTotals.Subject) throws(StateError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StateError(description: "\(path): \(String(cString: strerror(errno)))") }
        do throws(StateError) { totals = try Self.begin(descriptor, path, subject) } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        // A process that is being started has the descriptor, too, until it runs its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func begin(
        _ descriptor: Int32, _ path: String, _ subject: UsageTotals.Subject
    ) throws(StateError) -> UsageTotals {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw StateError(description: "\(path) is in use: another scan is running")
        }
        let file = contents(of: descriptor)
        if file.isEmpty {
            let totals = UsageTotals(subject)
            guard write(totals.head, to: descriptor) else {
                throw StateError(description: "\(path): \(String(cString: strerror(errno)))")
            }
            return totals
        }
        guard let (totals, counted) = try? UsageTotals.resumed(subject, from: file) else {
            throw StateError(
                description: "\(path) belongs to a scan of something else; delete it, or name another with --state")
        }
        guard ftruncate(descriptor, counted) == 0 else {
            throw StateError(description: "\(path): \(String(cString: strerror(errno)))")
        }
        return totals
    }

    /// - Returns: whether the line is written.
    func append(_ line: [UInt8]) -> Bool { Self.write(line, to: descriptor) }

    /// When all is done there is nothing to go on with.
    func remove() { unlink(path) }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == bytes.count
    }

    private static func contents(of descriptor: Int32) -> [UInt8] {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = piece.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return all }
            all += piece[..<count]
        }
    }
}
