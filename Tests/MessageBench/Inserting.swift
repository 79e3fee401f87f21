import CloakroomBenchSupport
import CloakroomKitTestSupport
import CloakroomMessages
import CloakroomSQLite
import Foundation

/// Messages that come in, beside the same rows with plain bodies in the same tables, by plain SQL: for each a look whether
/// its id is known, and an INSERT of the id and one of the row, in transactions of as many.
struct Inserting {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    private static let batch = 100
    private static let conversations = 20

    func run() async throws -> [String: Double] {
        let device = try await BenchDevice(arguments.folder.appendingPathComponent("sealed", isDirectory: true))
        try await device.keepAll(conversations: Self.conversations)
        let plain = try await schema(in: arguments.folder.appendingPathComponent("plain", isDirectory: true))
        let (rounds, batches) = (try arguments.number("rounds"), try arguments.number("batches"))
        var (ratios, sealedTimes, plainTimes): ([Double], [Double], [Double]) = ([], [], [])
        var next = 0
        for round in 0...rounds {
            // The first fills both, so that the others have indexes of some depth to insert into.
            let count = Self.batch * (round == 0 ? batches * rounds : batches)
            let messages = try (next..<next + count).map { try message($0) }
            let rows = (next..<next + count).map { (known: known($0), row: row($0)) }
            next += count
            let parts = stride(from: 0, to: count, by: Self.batch)
            let sealed = try await CPUTime.milliseconds {
                for first in parts {
                    let admitted = try await device.retention.admit(Array(messages[first..<first + Self.batch]))
                    guard admitted.allSatisfy({ if case .kept = $0 { true } else { false } }) else {
                        throw BenchError("a message was not kept")
                    }
                }
            }
            let inserted = try await CPUTime.milliseconds {
                for first in parts { try insert(rows[first..<first + Self.batch], into: plain) }
            }
            guard round > 0 else { continue }
            ratios.append(sealed / inserted)
            sealedTimes.append(sealed / Double(count) * 1000)
            plainTimes.append(inserted / Double(count) * 1000)
        }
        return ["ratio": ratios.median, "us": sealedTimes.median, "us_other": plainTimes.median]
    }

    /// An empty database with the storage's tables, indexes and triggers.
    private func schema(in folder: URL) async throws -> SQLiteDatabase {
        let device = try await BenchDevice(folder)
        try await device.keepAll(conversations: Self.conversations)
        await device.storage.close()
        return try BenchDevice.connect(device.database)
    }

    private func time(_ number: Int) -> Milliseconds { BenchDevice.begin - Milliseconds(number) }

    private func message(_ number: Int) throws -> IncomingMessage {
        try BenchMessages.message(
            number, .oneWeek, in: BenchMessages.conversation(number % Self.conversations), at: time(number),
            byteCount: 100)
    }

    /// What the storage writes of the same message in `known`, with another random id.
    private func known(_ number: Int) -> [SQLiteValue] {
        [
            .blob(Array(Data.numbered(-number - 1, count: 12))), .integer(Int64(number + 1)),
            .integer(time(number) / .day + 366),
        ]
    }

    /// And in `message`, with the body as it is.
    private func row(_ number: Int) -> [SQLiteValue] {
        let end = time(number) + BenchMessages.week
        return [
            .integer(Int64(number + 1)),
            .text(BenchMessages.name(number)), .integer(Int64(number % Self.conversations + 1)), .text("peer"), 0,
            .integer(time(number)), 0, 604_800, nil, .integer(end), .integer(end), nil,
            .integer(end / 37_800_000 * 37_800), .blob(Array(BenchMessages.body(number, byteCount: 100))),
        ]
    }

    private func insert(
        _ rows: ArraySlice<(known: [SQLiteValue], row: [SQLiteValue])>, into database: SQLiteDatabase
    ) throws {
        try database.transaction { () throws(SQLiteError) in
            for (known, row) in rows {
                let isKnown = try database.first("SELECT 1 FROM known WHERE id = ?", [known[0]]) { _ in true }
                guard isKnown == nil else { continue }
                try database.run("INSERT INTO known (id, seq, until) VALUES (?, ?, ?)", known)
                try database.run(
                    """
                    INSERT INTO message (seq, name, conversation, author, clock, base, wall_lead, stamp, own_policy,
                        shared, deadline, quotes, slot, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """, row)
            }
        }
    }
}
