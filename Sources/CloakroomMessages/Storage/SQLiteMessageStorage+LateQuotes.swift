import CloakroomSQLite

/// A message can arrive before the one that it quotes, and ends no later than that all the same.
extension SQLiteMessageStorage {
    /// Whether a message that arrives is quoted already, by one that is to end sooner by that; it is written then.
    ///
    /// Those that quote what is stored now follow it as they follow a cut, some at a time. What is over on arrival is not
    /// there to follow: its end is written at once.
    func lowerQuoting(_ plan: AdmissionPlan, _ clock: RetentionClock, in database: SQLiteDatabase) throws(SQLiteError)
        -> Bool
    {
        let isOver: Bool
        var end = QuotedTerm(term: plan.record.term, clock: plan.record.base.clock)
        switch plan.decision {
        case .stored: isOver = false
        case .arrivedExpired:
            isOver = true
            // What it quotes itself is gone, and with that its end is not known.
            if !clock.trusted.isDue(plan.record.term.local, base: plan.record.base) { end = .over }
        case .inMemory, .replay: return false
        }
        var isLowered = false
        for (condition, other) in [("clock < 2", MessageBase.Clock.relay), ("clock >= 2", .device(run: 0))] {
            let term = end.converted(to: other, clock)
            guard term.shared != nil || term.local != nil else { continue }
            let quoting = """
                conversation = ?1 AND quotes = ?2 AND quotes_author = ?3 AND \(condition)
                AND (ifnull(shared, \(Int64.max)) > ?4 OR ifnull(deadline, \(Int64.max)) > ?5)
                """
            let values: [SQLiteValue] = [
                .integer(plan.conversation), .text(plan.record.draft.id.rawValue),
                .text(plan.record.draft.author.rawValue), .integer(term.shared ?? .max), .integer(term.local ?? .max),
            ]
            if isOver {
                let count = try database.run(
                    """
                    UPDATE message SET shared = nullif(min(ifnull(shared, \(Int64.max)), ?4), \(Int64.max)),
                        deadline = nullif(min(ifnull(deadline, \(Int64.max)), ?5), \(Int64.max)) WHERE \(quoting)
                    """, values)
                if count > 0 { isLowered = true }
            } else {
                let found = try database.first("SELECT 1 FROM message WHERE \(quoting)", values) { _ in true }
                if found != nil { isLowered = true }
            }
        }
        guard isLowered else { return false }
        // What quotes those, and so on.
        try database.run("UPDATE conversation SET cuts_pending = 1 WHERE id = ?", [.integer(plan.conversation)])
        return true
    }
}

extension QuotedTerm {
    /// Of a message that was here and is not any more.
    static let over = QuotedTerm(term: MessageTerm(shared: 0, local: 0, isStored: true), clock: .relay)
}
