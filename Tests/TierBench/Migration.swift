import CloakroomBenchSupport
import CloakroomKit
import CloakroomSQLite
import CloakroomTiers
import Foundation

/// Moves the photos of the table `blobs` into a store, and looks at the disk meanwhile.
struct Migration {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() async throws -> [String: Double] {
        let (count, bytes) = (try arguments.number("count"), try arguments.number("bytes"))
        let table = arguments.folder.appendingPathComponent("memories.sqlite")
        try FileManager.default.createDirectory(at: arguments.folder, withIntermediateDirectories: true)
        let recent = try Self.fill(table, count, bytes)
        let bench = try BenchStore.inMemory(arguments.folder, MemoryS3())
        let watch = DiskWatch(arguments.folder)
        let began = ContinuousClock.now
        let report = try await bench.store.migrate(from: BlobTableSource(table), run: .manual)
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let growth = await watch.end()
        if let error = report.stoppedBy ?? report.failures.first?.error { throw BenchError("it failed: \(error)") }
        guard report.imported == count, report.evicted == count - recent, !report.isCompactionPending else {
            throw BenchError("\(report)")
        }
        // What stays in the end, on the disk before anything has left the table.
        let staying = recent * (bytes + 4096) + count * Content.thumbnailBytes
        return [
            "moved": Double(report.imported), "seconds": seconds,
            "extra_mb": max(0, Double(growth - Int64(staying)) / 1e6),
        ]
    }

    /// - Returns: how many rows are not yet due.
    private static func fill(_ file: URL, _ count: Int, _ bytes: Int) throws -> Int {
        let database = try SQLiteDatabase(at: file.path)
        try database.run(
            script: """
                CREATE TABLE blobs (cid TEXT PRIMARY KEY, data BLOB NOT NULL, mime_type TEXT NOT NULL,
                    size_bytes INTEGER NOT NULL, created_at INTEGER NOT NULL)
                """)
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let recent = (0..<count).filter { $0 % 12 == 11 }
        for first in stride(from: 0, to: count, by: 100) {
            try database.transaction { () throws(SQLiteError) in
                for number in first..<min(first + 100, count) {
                    let age: Int64 = number % 12 == 11 ? 3 : 90
                    try database.run(
                        "INSERT INTO blobs VALUES (?, ?, 'image/jpeg', ?, ?)",
                        [
                            .text(Content.name(number)), .blob(Array(Content.photo(number, byteCount: bytes))),
                            SQLiteValue(bytes), .integer(now - age * 86_400_000),
                        ])
                }
            }
        }
        // The log is no part of what there was.
        try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        return recent.count
    }
}

/// How much more of the disk a folder has had than when this was made, in bytes.
private final class DiskWatch: Sendable {
    private let task: Task<Int64, Never>

    init(_ folder: URL) {
        let before = Self.allocated(folder)
        task = Task.detached {
            var most: Int64 = 0
            while !Task.isCancelled {
                most = max(most, Self.allocated(folder) - before)
                try? await Task.sleep(for: .milliseconds(5))
            }
            return max(most, Self.allocated(folder) - before)
        }
    }

    func end() async -> Int64 {
        task.cancel()
        return await task.value
    }

    private static func allocated(_ folder: URL) -> Int64 {
        let files = FileManager.default.enumerator(atPath: folder.path)
        return (files?.compactMap { $0 as? String } ?? []).reduce(0) { sum, name in
            var status = stat()
            guard lstat("\(folder.path)/\(name)", &status) == 0 else { return sum }
            return sum + Int64(status.st_blocks) * 512
        }
    }
}
