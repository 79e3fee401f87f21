import CloakroomBenchSupport
import CloakroomMessages
import CloakroomSQLite
import Foundation
import Synchronization

/// A purge of the oldest messages, as the app calls it: journal, tombstones, keys, and an empty log.
struct Purge {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let fill = try Fill(arguments)
        let due = try arguments.number("due")
        let batches = Mutex(0)
        let device = try await BenchDevice(
            fill.folder, at: fill.end(ofFirst: due),
            step: { step in if step == .rowsRemoved(.after) { batches.withLock { $0 += 1 } } })
        let writer = arguments.has("writer") ? try WaitingWriter(device.database) : nil
        let resident = try Memory.residentMegabytes()
        try Memory.resetPeak()
        let began = ContinuousClock.now
        var report = PurgeReport()
        let milliseconds = try await CPUTime.milliseconds { report = try await device.retention.purge() }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let waits = writer?.end()
        // The last write of the other connection can keep the log for a moment.
        if report.isCheckpointPending, writer != nil { report.isCheckpointPending = false }
        guard report.isComplete, report.purgedCount == due else { throw BenchError("\(report)") }
        var results = [
            "cpu_ms": milliseconds, "seconds": seconds, "extra_mb": try Memory.peakMegabytes() - resident,
            "batches": Double(batches.withLock { $0 }),
            "tombstone_bytes": try tombstoneBytes(device.database, count: fill.count),
        ]
        if let waits {
            guard waits.count > 0 else { throw BenchError("the other connection has written nothing") }
            results["longest_wait_ms"] = waits.longest / .milliseconds(1)
            results["longest_wait_at_s"] = waits.longestAt / .seconds(1)
            results["writes"] = Double(waits.count)
        }
        return results
    }

    /// All pages of the table and of its indexes, for each row: of messages that are here, and of those that are gone.
    private func tombstoneBytes(_ database: URL, count: Int) throws -> Double {
        let connection = try SQLiteDatabase(at: database.path)
        let rows = try connection.first("SELECT count(*) FROM known") { $0.integer(0) }
        guard rows == Int64(count) else { throw BenchError("\(rows ?? 0) messages are known, not \(count)") }
        let bytes = try connection.first(
            """
            SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'known')
            """
        ) { $0.integer(0) }
        guard let bytes, bytes > 0 else { throw BenchError("this SQLite does not tell the sizes of tables") }
        return Double(bytes) / Double(count)
    }
}

/// The same rows, deleted by one statement with the same settings, and the log emptied.
struct PlainDelete {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let fill = try Fill(arguments)
        let due = try arguments.number("due")
        let database = try BenchDevice.connect(
            BenchDevice.database(in: fill.folder.appendingPathComponent("messages", isDirectory: true)))
        let end = SQLiteValue.integer(fill.end(ofFirst: due))
        let began = ContinuousClock.now
        var count = 0
        let milliseconds = try await CPUTime.milliseconds {
            count = try database.transaction { () throws(SQLiteError) in
                try database.run(
                    "DELETE FROM message WHERE deadline IS NOT NULL AND clock < 2 AND deadline <= ?", [end])
            }
            guard try !database.checkpoint(.truncate).isBusy else { throw BenchError("the log was not emptied") }
        }
        guard count == due else { throw BenchError("\(count) rows were deleted, not \(due)") }
        return ["cpu_ms": milliseconds, "seconds": (ContinuousClock.now - began) / .seconds(1)]
    }
}

/// Another connection that writes every millisecond, and measures how long it waits until it may.
final class WaitingWriter: Sendable {
    struct Waits: Sendable {
        var longest = Duration.zero
        /// When it began.
        var longestAt = Duration.zero
        var count = 0
    }

    private struct State: Sendable {
        var waits = Waits()
        var isEnding = false
        var hasEnded = false
        let start = ContinuousClock.now
    }

    private let state = Mutex(State())

    init(_ file: URL) throws {
        Thread.detachNewThread { [self] in
            if let database = try? SQLiteDatabase(
                at: file.path, settings: SQLiteSettings(durability: .processEnd, busyTimeout: .zero))
            {
                while !state.withLock({ $0.isEnding }) {
                    write(to: database)
                    usleep(1000)
                }
            }
            state.withLock { $0.hasEnded = true }
        }
    }

    private func write(to database: SQLiteDatabase) {
        let began = ContinuousClock.now
        while true {
            var begun: ContinuousClock.Instant?
            do {
                try database.transaction { () throws(SQLiteError) in
                    begun = .now
                    try database.run("UPDATE conversation SET arrived_expired = arrived_expired WHERE id = 1")
                }
            } catch {
                // SQLite's own waiting sleeps for longer and longer, and would measure that.
                if begun == nil, !state.withLock({ $0.isEnding }) {
                    usleep(100)
                    continue
                }
                return
            }
            guard let begun else { return }
            state.withLock {
                if begun - began > $0.waits.longest { $0.waits.longestAt = began - $0.start }
                $0.waits.longest = max($0.waits.longest, begun - began)
                $0.waits.count += 1
            }
            return
        }
    }

    /// Ends the writing.
    func end() -> Waits {
        state.withLock { $0.isEnding = true }
        while !state.withLock({ $0.hasEnded }) { usleep(100) }
        return state.withLock { $0.waits }
    }
}
