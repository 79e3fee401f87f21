import CloakroomKit

/// The ends of messages that quote each other, as far as they were followed.
struct QuoteChains: Sendable {
    /// By the row of the message.
    private(set) var terms: [Int64: QuotedTerm] = [:]
    /// The deadlines of messages up to this one follow all cuts already; `nil`: of none.
    var settledThrough: MessageCursor?
    /// How many links are followed yet.
    var budget: Int
    /// What the budget did not suffice for.
    private var walk: Walk?

    /// What keeps the storage for some 100 milliseconds at most.
    static let linksAtOnce = 2048

    init(budget: Int = .max) { self.budget = budget }

    /// From a message to what it quotes, to what that quotes, and so on; then back with the ends.
    struct Walk: Sendable {
        /// The message whose end is looked for.
        let first: Int64
        private(set) var chain: [MessageRecord]
        private var met: Set<Int64>
        /// What the last of the chain quotes.
        var end: QuotedTerm?
        var isComplete = false
        /// From here on the chain has messages a second time, which have not met all of their circle yet.
        private var lastMet = Int.max

        fileprivate init(from record: MessageRecord) {
            first = record.sequence
            chain = [record]
            met = [record.sequence]
        }

        mutating func append(_ record: MessageRecord) {
            guard !met.insert(record.sequence).inserted else { return chain.append(record) }
            // Messages that quote each other end with the first of all of them.
            let start = chain.firstIndex { $0.sequence == record.sequence } ?? 0
            lastMet = chain.count
            chain += chain[start...]
            isComplete = true
        }

        /// - Returns: the last of the chain, and whether its end is known when that of what it quotes is.
        mutating func removeLast() -> (record: MessageRecord, isFinal: Bool)? {
            chain.popLast().map { ($0, chain.count < lastMet) }
        }
    }

    /// One that was begun for the same message continues.
    mutating func takeWalk(from record: MessageRecord) -> Walk {
        defer { walk = nil }
        if let walk, walk.first == record.sequence { return walk }
        return Walk(from: record)
    }

    mutating func keep(_ walk: Walk) { self.walk = walk }

    mutating func spend() -> Bool {
        guard budget > 0 else { return false }
        budget -= 1
        return true
    }

    mutating func settle(_ record: MessageRecord, _ term: QuotedTerm) { terms[record.sequence] = term }

    mutating func forget(_ record: MessageRecord) { terms[record.sequence] = nil }

    /// - Returns: `nil` for a message that has to be followed further.
    func known(_ record: MessageRecord) -> QuotedTerm? {
        if let settledThrough, record.cursor <= settledThrough {
            return QuotedTerm(term: record.term, clock: record.base.clock)
        }
        return terms[record.sequence]
    }
}

extension SQLiteMessageStorage {
    /// What a message's end will be when all cuts were applied: those of what it quotes, and of what that quotes,
    /// included.
    ///
    /// - Parameter chains: what was found so far, with the cuts and the clock of now.
    /// - Returns: `nil` when its budget did not suffice: with more of it, and the same message, it continues.
    func settledTerm(
        of record: MessageRecord, in conversation: ConversationRow, _ chains: inout QuoteChains
    ) throws(CloakroomError) -> MessageTerm? {
        if let known = chains.terms[record.sequence] { return known.term }
        var walk = chains.takeWalk(from: record)
        while !walk.isComplete {
            guard let quotes = walk.chain.last?.draft.quotes else { break }
            guard chains.spend() else {
                chains.keep(walk)
                return nil
            }
            let id = rowID(quotes)
            guard let quoted = try quotedRow(id, in: conversation) else {
                if case .over = try departed(id, from: conversation) { walk.end = .over }
                break
            }
            walk.end = chains.known(quoted.record)
            if walk.end == nil { walk.append(quoted.record) } else { walk.isComplete = true }
        }
        walk.isComplete = true
        var settled = record.term
        while !walk.chain.isEmpty {
            guard walk.chain.count == 1 || chains.spend() else {
                chains.keep(walk)
                return nil
            }
            guard let (link, isFinal) = walk.removeLast() else { break }
            var term = term(of: link, in: conversation.state, clock)
            if let end = walk.end {
                term = term.quoting(
                    end.converted(to: link.base.clock, clock), notBefore: limits.least(after: link.base.time))
            }
            settled = link.term.lowered(to: term)
            let quoted = QuotedTerm(term: settled, clock: link.base.clock)
            if isFinal { chains.settle(link, quoted) }
            walk.end = quoted
        }
        return settled
    }
}
