import CloakroomSQLite

/// A message can arrive before the one that it quotes, and ends no later than that all the same.
extension SQLiteMessageStorage {
    /// Whether a message that arrives is quoted already, by one that is to end sooner by that; it is written then.
    ///
    /// Those that quote what is stored now follow it as they follow a cut, some at a time. What is over on arrival, or in
    /// memory, is not there to follow: its end is written at once.
    func lowerQuoting(_ plan: AdmissionPlan, _ clock: RetentionClock, in database: SQLiteDatabase) throws(SQLiteError)
        -> Bool
    {
        let isFollowed: Bool
        var end = QuotedTerm(term: plan.record.term, clock: plan.record.base.clock)
        switch plan.decision {
        case .stored: isFollowed = true
        case .inMemory: isFollowed = false
        case .arrivedExpired:
            isFollowed = false
            // What it quotes itself is gone, and with that its end is not known.
            if !clock.trusted.isDue(plan.record.term.local, base: plan.record.base) { end = .over }
        case .replay: return false
        }
        var isLowered = false
        for (condition, other) in [("clock < 2", MessageBase.Clock.relay), ("clock >= 2", .device(run: 0))] {
            let term = end.converted(to: other, clock)
            guard term.shared != nil || term.local != nil else { continue }
            let quoting = """
                conversation = ?1 AND quotes = ?2 AND quotes_author = ?3 AND \(condition)
                AND (ifnull(shared, \(Int64.max)) > ?4 OR ifnull(deadline, \(Int64.max)) > \(Self.deadlineByQuote)
                    OR ifnull(own_end, \(Int64.max)) > ?6)
                """
            let values: [SQLiteValue] = [
                .integer(plan.conversation), .text(plan.record.draft.id.rawValue),
                .text(plan.record.draft.author.rawValue), .integer(term.shared ?? .max), .integer(term.local ?? .max),
                .integer(term.own ?? .max), SQLiteValue(limits.least(after: 0)),
            ]
            if isFollowed {
                let found = try database.first("SELECT 1 FROM message WHERE \(quoting)", values) { _ in true }
                if found != nil { isLowered = true }
            } else {
                let count = try database.run(
                    """
                    UPDATE message SET shared = nullif(min(ifnull(shared, \(Int64.max)), ?4), \(Int64.max)),
                        deadline = nullif(min(ifnull(deadline, \(Int64.max)), \(Self.deadlineByQuote)), \(Int64.max)),
                        own_end = nullif(min(ifnull(own_end, \(Int64.max)), ?6), \(Int64.max)) WHERE \(quoting)
                    """, values)
                if count > 0 { isLowered = true }
            }
        }
        guard isLowered else { return false }
        // What quotes those, and so on.
        try database.run("UPDATE conversation SET cuts_pending = 1 WHERE id = ?", [.integer(plan.conversation)])
        return true
    }

    /// As ``MessageTerm/quoting(_:notBefore:)`` has it.
    private static let deadlineByQuote = "min(?6, max(?5, ifnull(base + ?7, ?5)))"
}
