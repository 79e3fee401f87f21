import CloakroomKit
import CloakroomSQLite

/// When tombstones are looked for that a relay's time has made needless. Which ones these are no index says: it would take
/// as much space as they do.
struct TombstonePruning: Sendable {
    /// The first day after which one may be needless, since 1970; `nil`: none ever is.
    fileprivate(set) var day: Int64?
    /// Where a search is.
    fileprivate var search: Search?
    /// What was written down last.
    fileprivate var writtenDay: Int64?

    fileprivate struct Search: Sendable {
        /// The last one that was looked at.
        var last: [UInt8] = []
        /// The first day of those that stay.
        var day: Int64?
    }

    fileprivate init(day: Int64?) { (self.day, writtenDay) = (day, day) }

    /// A message has come that has to be known through a day. What is older than that at once is looked for tomorrow.
    mutating func add(_ until: Int64?, today: Int64) {
        guard let until = until.map({ max($0, today) }) else { return }
        day = min(day ?? until, until)
        if let search { self.search?.day = min(search.day ?? until, until) }
    }

    mutating func markWritten() { writtenDay = day }

    /// By the shared clock; `nil`: never.
    var next: Milliseconds? { day.map { ($0 + 1) * .day } }
}

/// Tombstones go when no copy of their message can live again, whatever a relay says of the time from then on.
extension SQLiteMessageStorage {
    /// Looks at some of what is known, and removes what is needless: in all, once a day at most.
    ///
    /// - Returns: whether there is more to look at.
    func pruneTombstones(limit: Int = 2048) throws(CloakroomError) -> Bool {
        let today = clock.leastShared / Milliseconds.day
        var pruning = pruning
        guard pruning.search != nil || pruning.day.map({ $0 < today }) == true else { return false }
        var search = pruning.search ?? TombstonePruning.Search()
        let last = search.last
        let (end, first) = try database.perform { database throws(SQLiteError) in
            let end = try database.first(
                "SELECT id FROM known WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?",
                [.blob(last), SQLiteValue(limit - 1)]
            ) { $0.blob(0) }
            return (end, try Self.firstDay(after: last, through: end, in: database))
        }
        var left = first
        if let first, first < today {
            let state = clock
            left = try database.repeatableTransaction { database throws(SQLiteError) in
                try database.run(
                    "DELETE FROM known WHERE \(Self.range) AND until < ?3 AND \(Self.isGone)",
                    Self.values(last, end) + [.integer(today)])
                // By a time that was before, a copy could live again.
                try MessageDatabase.store(state, in: database)
                return try Self.firstDay(after: last, through: end, in: database)
            }
        }
        search.day = [search.day, left].compactMap { $0 }.min()
        guard let end else {
            // What is over and still here is looked at again tomorrow.
            pruning.day = search.day.map { max($0, today) }
            pruning.search = nil
            let pruned = pruning
            try database.transaction { database throws(SQLiteError) in try Self.store(pruned, in: database) }
            self.pruning = pruned
            self.pruning.markWritten()
            return false
        }
        search.last = end
        self.pruning.search = search
        return true
    }

    /// How long until some are needless; `nil` when none ever is.
    func pruningRemaining(_ clock: RetentionClock) -> Milliseconds? {
        pruning.next.map { max(0, $0.minus(clock.leastShared)) }
    }

    private static let range = "id > ?1 AND id <= ?2"

    private static func values(_ last: [UInt8], _ end: [UInt8]?) -> [SQLiteValue] {
        // Longer than all of them.
        [.blob(last), .blob(end ?? [UInt8](repeating: 0xFF, count: 13))]
    }

    private static func firstDay(
        after last: [UInt8], through end: [UInt8]?, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Int64? {
        try database.first("SELECT min(until) FROM known WHERE \(range)", values(last, end)) {
            $0.integerIfPresent(0)
        } ?? nil
    }

    static func store(_ pruning: TombstonePruning, in database: SQLiteDatabase) throws(SQLiteError) {
        guard pruning.day != pruning.writtenDay else { return }
        guard let day = pruning.day else {
            try database.run("DELETE FROM needless")
            return
        }
        try database.run(
            "INSERT INTO needless (id, day) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET day = excluded.day",
            [.integer(day)])
    }
}

extension MessageDatabase {
    func pruning() throws(CloakroomError) -> TombstonePruning {
        try perform { database throws(SQLiteError) in
            TombstonePruning(day: try database.first("SELECT day FROM needless") { $0.integer(0) })
        }
    }
}
