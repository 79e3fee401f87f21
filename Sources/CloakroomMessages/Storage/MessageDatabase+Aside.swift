import CloakroomKit
import CloakroomSQLite
import Foundation

extension MessageFolder {
    /// The names of databases that were moved aside, without those of their logs.
    var databasesAside: Set<String> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        return Set(
            names.lazy.filter { $0.hasPrefix(database.lastPathComponent + ".corrupt-") }.map { name in
                ["-wal", "-shm"].first { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) } ?? name
            })
    }
}

extension MessageDatabase {
    /// Records databases that were moved aside, where that is not done: those that a damaged one knew of are no longer
    /// recorded anywhere.
    ///
    /// When this database has taken the place of one of them just now, it takes over what can be read of that one.
    ///
    /// - Parameter last: the one whose place it takes; `nil`: the last by its name.
    /// - Returns: what is lost with it; nothing when it was recorded before.
    func recordMovedAside(
        in folder: MessageFolder, last: String? = nil, keys: MessageKeys, _ reading: RetentionClock.Reading
    ) throws(SQLiteError) -> Set<SQLiteMessageStorage.Loss> {
        let names = folder.databasesAside
        guard !names.isEmpty else { return [] }
        let known = try database.rows("SELECT path FROM moved_aside") { $0.text(0) }
        let unknown = names.subtracting(known)
        guard let former = last.flatMap({ unknown.contains($0) ? $0 : nil }) ?? unknown.max() else { return [] }
        // The longest that any of its keys has to last; messages without an end stay until all are erased.
        let ids = keys.table.ids.filter { $0.conversation > 0 }
        let until = ids.contains { $0.slot.isEndless } ? nil : (ids.map(\.slot).max()?.rawValue ?? 0) * 1000
        let isNew = try database.first("SELECT 1 FROM sqlite_sequence WHERE name = 'conversation'") { _ in true } == nil
        // Keys of the former rows must not meet new ones, whatever the clock says.
        let number = max(reading.wall.asTime, ids.map(\.conversation).max() ?? 0)
        return try database.transaction { () throws(SQLiteError) -> Set<SQLiteMessageStorage.Loss> in
            for name in unknown {
                try database.run(
                    "INSERT INTO moved_aside (path, until) VALUES (?, ?)", [.text(name), SQLiteValue(until)])
            }
            guard isNew else { return [] }
            try database.run(
                "INSERT INTO sqlite_sequence (name, seq) VALUES ('conversation', ?)", [.integer(number)])
            let areAllPolicies = try takeOver(from: folder.url.appendingPathComponent(former, isDirectory: false))
            return areAllPolicies ? [.database] : [.database, .policies]
        }
    }

    /// Databases that were moved aside open with no key that there is: the next purge removes them.
    func endMovedAside() throws(CloakroomError) {
        try perform { database throws(SQLiteError) in try database.run("UPDATE moved_aside SET until = 0") }
    }
}
