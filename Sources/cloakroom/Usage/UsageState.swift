import Glibc
import CloakroomAWS
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The file that lets an interrupted scan go on where it stopped.
final class UsageState {
    struct StateError: Error, CustomStringConvertible {
        let description: String
    }

    /// How long after its start, in seconds, a scan may still be resumed: what it counted may be deleted by then, and what
    /// was stored since is in no sum.
    private static let maximumAge: TimeInterval = 86_400

    private let path: String
    private let descriptor: Int32
    /// What earlier runs counted.
    let totals: UsageTotals
    /// Why the scan begins anew although there is a state; `nil` where it does not.
    let restart: String?

    /// Makes the file, or goes on with it; two scans at once do not share one.
    init(path: String, subject: UsageTotals.Subject, now: Date = Date()) throws(StateError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StateError(description: "\(path): \(String(cString: strerror(errno)))") }
        do throws(StateError) { (totals, restart) = try Self.begin(descriptor, path, subject, now) } catch {
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
        _ descriptor: Int32, _ path: String, _ subject: UsageTotals.Subject, _ now: Date
    ) throws(StateError) -> (UsageTotals, String?) {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw StateError(description: "\(path) is in use: another scan is running")
        }
        let file = contents(of: descriptor)
        var reason: String?
        if !file.isEmpty {
            guard let (totals, counted, started) = try? UsageTotals.resumed(subject, from: file) else {
                throw StateError(
                    description: "\(path) belongs to a scan of something else; delete it, or name another with --state")
            }
            reason = Self.restart(started.flatMap { Timestamp(iso8601: $0)?.date }, now)
            guard ftruncate(descriptor, reason == nil ? counted : 0) == 0 else {
                throw StateError(description: "\(path): \(String(cString: strerror(errno)))")
            }
            if reason == nil { return (totals, nil) }
        }
        let totals = UsageTotals(subject)
        guard write(totals.head(started: now.wireText), to: descriptor) else {
            throw StateError(description: "\(path): \(String(cString: strerror(errno)))")
        }
        return (totals, reason)
    }

    private static func restart(_ started: Date?, _ now: Date) -> String? {
        guard let started else { return "does not say when it was started" }
        guard started <= now else { return "was started at \(started.wireText), later than now" }
        guard now.timeIntervalSince(started) > maximumAge else { return nil }
        return "was started at \(started.wireText), more than a day ago"
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
