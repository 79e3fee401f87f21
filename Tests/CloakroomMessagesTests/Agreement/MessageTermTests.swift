import Testing

@testable import CloakroomMessages

@Suite struct MessageTermTests {
    private let (a, b, c): (ParticipantID, ParticipantID, ParticipantID)
    private static let hour: Milliseconds = 3_600_000

    init() throws {
        a = try #require(ParticipantID(rawValue: "a"))
        b = try #require(ParticipantID(rawValue: "b"))
        c = try #require(ParticipantID(rawValue: "c"))
    }

    private func message(
        of author: ParticipantID, at base: Milliseconds = 1000, stamp: MessageRetentionPolicy,
        own: MessageRetentionPolicy = .keep
    ) -> TermInputs {
        TermInputs(
            author: author, base: MessageBase(time: base, clock: .relay), sharedBase: base, stamp: stamp,
            ownPolicy: own)
    }

    private func cuts(of author: ParticipantID, _ cuts: RetentionCuts) -> RetentionState {
        RetentionState(registers: [author: RetentionRegister(policy: .keep, cuts: cuts)])
    }

    @Test func `a message ends by its stamp`() {
        let term = RetentionState().term(of: message(of: b, stamp: .oneHour), reader: a, limits: .init())
        #expect(term == MessageTerm(shared: 1000 + Self.hour, local: 1000 + Self.hour, own: nil, isStored: true))
    }

    @Test func `a stamp that says keep does not outlast the reader's policy when it was admitted`() {
        let term = RetentionState().term(of: message(of: b, stamp: .keep, own: .oneHour), reader: a, limits: .init())
        #expect(term == MessageTerm(shared: nil, local: 1000 + Self.hour, own: 1000 + Self.hour, isStored: true))
    }

    @Test func `a cut binds the messages of its author on every device`() {
        let state = cuts(of: b, RetentionCuts(.oneHour, before: 1001))
        let term = state.term(of: message(of: b, stamp: .oneDay), reader: a, limits: .init())
        #expect(term == MessageTerm(shared: 1000 + Self.hour, local: 1000 + Self.hour, own: nil, isStored: true))
    }

    @Test func `a cut binds no messages of others, but for its author`() {
        let state = cuts(of: b, RetentionCuts(.oneHour, before: 1001))
        let foreign = message(of: c, stamp: .oneDay)
        let day = 1000 + 24 * Self.hour
        let whole = MessageTerm(shared: day, local: day, own: nil, isStored: true)
        #expect(state.term(of: foreign, reader: a, limits: .init()) == whole)
        // What the others compute stays the same.
        let own = MessageTerm(shared: day, local: 1000 + Self.hour, own: 1000 + Self.hour, isStored: true)
        #expect(state.term(of: foreign, reader: b, limits: .init()) == own)
    }

    @Test func `a cut does not bind what was sent later`() {
        let state = cuts(of: b, RetentionCuts(.oneHour, before: 1000))
        #expect(
            state.term(of: message(of: b, stamp: .oneDay), reader: a, limits: .init()).local == 1000 + 24 * Self.hour)
    }

    @Test func `peers cannot end messages within the minimum, by stamps or by cuts`() {
        let limits = RetentionLimits(minimumForPeers: .seconds(3600))
        let state = cuts(of: b, RetentionCuts(.noStorage, before: 5000))
        let term = state.term(of: message(of: b, stamp: .noStorage), reader: a, limits: limits)
        #expect(term == MessageTerm(shared: 1000, local: 1000 + Self.hour, own: nil, isStored: true))
        // The user's own messages and cuts have no minimum.
        #expect(state.term(of: message(of: b, stamp: .oneDay), reader: b, limits: limits).local == 1000)
        #expect(state.term(of: message(of: a, stamp: .oneDay), reader: b, limits: limits).local == 1000)
    }

    @Test func `nothing is kept longer than the maximum`() {
        let limits = RetentionLimits(maximum: .seconds(3600))
        let term = RetentionState().term(of: message(of: b, stamp: .keep), reader: a, limits: limits)
        #expect(term == MessageTerm(shared: nil, local: 1000 + Self.hour, own: 1000 + Self.hour, isStored: true))
    }

    @Test func `what is not stored is in memory until the conversation closes, or the other limit ends it`() {
        let end = 1000 + 24 * Self.hour
        let day = RetentionState().term(of: message(of: b, stamp: .oneDay, own: .noStorage), reader: a, limits: .init())
        #expect(day == MessageTerm(shared: end, local: end, own: nil, isStored: false))
        let none = RetentionState().term(of: message(of: b, stamp: .noStorage), reader: a, limits: .init())
        #expect(none == MessageTerm(shared: nil, local: 1000 + 365 * 24 * Self.hour, own: nil, isStored: false))
    }

    @Test func `a quote ends with the first of both, and is stored when both are`() {
        let quoted = MessageTerm(shared: 50, local: 40, own: nil, isStored: true)
        let quote = MessageTerm(shared: nil, local: 60, own: 60, isStored: true)
        let first = MessageTerm(shared: 50, local: 40, own: 60, isStored: true)
        #expect(quote.quoting(quoted, notBefore: nil) == first)
        #expect(quoted.quoting(quote, notBefore: nil) == first)
        let inMemory = MessageTerm(shared: nil, local: nil, own: nil, isStored: false)
        #expect(!quote.quoting(inMemory, notBefore: nil).isStored)
    }

    @Test func `a peer who ends what is quoted does not end the quote within the minimum, and its reader does`() {
        let quote = MessageTerm.endless
        let byPeer = MessageTerm(shared: 10, local: 20, own: 90, isStored: true)
        #expect(
            quote.quoting(byPeer, notBefore: 70) == MessageTerm(shared: 10, local: 70, own: 90, isStored: true))
        #expect(quote.quoting(byPeer, notBefore: 15).local == 20)
        let byReader = MessageTerm(shared: nil, local: 20, own: 20, isStored: true)
        #expect(
            quote.quoting(byReader, notBefore: 70) == MessageTerm(shared: nil, local: 20, own: 20, isStored: true))
        // What quotes that ends no sooner either.
        let next = MessageTerm.endless.quoting(quote.quoting(byPeer, notBefore: 70), notBefore: 80)
        #expect(next.local == 80 && next.own == 90)
    }

    @Test func `the stamp of a quote is no longer than what it quotes has left`() {
        func stamp(
            _ policy: MessageRetentionPolicy, until deadline: Milliseconds?, at now: Milliseconds
        ) -> MessageRetentionPolicy { policy.quoting(.keep, until: deadline, within: .init(), at: now) }
        #expect(stamp(.oneDay, until: nil, at: 0) == .oneDay)
        #expect(stamp(.oneDay, until: 60_001, at: 0).afterSent == .seconds(61))
        #expect(stamp(.oneDay, until: 5, at: 60_000).afterSent == .seconds(1))
        #expect(stamp(.noStorage, until: 5000, at: 0) == .noStorage)
        #expect(stamp(.keep, until: .max, at: .min).afterSent == MessageRetentionPolicy.longest)
    }

    @Test func `the stamp of a quote says that nothing is stored when that of the quoted message does`() {
        let limits = RetentionLimits(minimumForPeers: .seconds(3600))
        let day = MessageRetentionPolicy.oneDay
        #expect(day.quoting(.noStorage, until: nil, within: RetentionLimits(), at: 0) == .noStorage)
        // A peer's message does not shorten that of this user below the minimum.
        #expect(day.quoting(.noStorage, until: nil, within: limits, at: 0) == .oneHour)
        #expect(day.quoting(.keep, until: 5000, within: limits, at: 0) == .oneHour)
        #expect(day.quoting(.keep, until: 5000, within: .init(), at: 0).afterSent == .seconds(5))
    }

    @Test func `a tombstone is needed as long as a copy could live again`() {
        let year: Milliseconds = 365 * 24 * Self.hour
        let relayed = MessageBase(time: 1000, clock: .relay)
        #expect(Tombstones.until(relayed, stamp: .oneHour) == 1000 + year)
        #expect(Tombstones.until(relayed, stamp: .keep) == nil)
        #expect(Tombstones.until(MessageBase(time: 1000, clock: .server), stamp: .oneHour) == nil)
        #expect(Tombstones.until(MessageBase(time: 1000, clock: .device(run: 0)), stamp: .oneHour) == nil)
    }

    @Test func `times at the bounds end nothing too early`() {
        let late = message(of: b, at: .max, stamp: .oneHour)
        #expect(RetentionState().term(of: late, reader: a, limits: .init()).local == .max)
    }

    @Test(arguments: [Int64.min, -1, 0, 1, 2, 7, .max]) func `a stored clock is the same again, or none`(raw: Int64) {
        let clock = MessageBase.Clock(rawValue: raw)
        #expect((clock == nil) == (raw < 0))
        if let clock { #expect(clock.rawValue == raw) }
    }
}
