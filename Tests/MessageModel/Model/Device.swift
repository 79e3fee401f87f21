import CloakroomMessages

/// One device: the algebra and the clock as they are, and a storage in memory.
struct Device {
    struct Held {
        var inputs: TermInputs
        var term: MessageTerm
        var quotes: Int?
    }

    struct Tombstone {
        /// How long it is needed; `nil`: for ever.
        var until: Milliseconds?
        /// Whether what quotes it ends, too: not that of a message in memory, which others may have.
        var isOver: Bool
    }

    enum Admission { case kept, arrivedExpired, replay }

    let index: Int
    let owner: ParticipantID
    let limits: RetentionLimits
    var clock: RetentionClock
    /// As it is in the storage.
    var storedClock: RetentionClock
    var state = RetentionState()
    var held: [Int: Held] = [:]
    /// Of what has ended, and of what is in memory only.
    var tombstones: [Int: Tombstone] = [:]
    /// What could not be sent yet, and when it was written by device time.
    var unsent: [(letter: Letter, writtenAt: Milliseconds)] = []

    var skew: Milliseconds
    var boot = 0
    var startedAt: Milliseconds
    /// How often the clock was set.
    var settings = 0
    var (isOn, isConnected, hearsServer) = (true, true, true)

    var leastForPeers: Milliseconds { limits.minimumForPeers.map { Milliseconds($0) } ?? 0 }

    init(
        _ index: Int, owner: ParticipantID, limits: RetentionLimits, skew: Milliseconds, hearsServer: Bool,
        at truth: Milliseconds
    ) {
        self.index = index
        self.owner = owner
        self.limits = limits
        self.skew = skew
        self.hearsServer = hearsServer
        startedAt = truth
        let reading = Self.reading(truth, skew, startedAt: truth, boot: 0, hearsServer)
        clock = RetentionClock(at: reading)
        storedClock = clock
        state.join(RetentionRegister(policy: .oneDay), of: owner)
    }

    var own: RetentionRegister { state.registers[owner] ?? RetentionRegister(policy: .noStorage) }

    // MARK: Time

    private static func reading(
        _ truth: Milliseconds, _ skew: Milliseconds, startedAt: Milliseconds, boot: Int, _ hearsServer: Bool
    ) -> RetentionClock.Reading {
        // A response tells the time to less than half a second.
        let error = truth / 1000 % 801 - 400
        return RetentionClock.Reading(
            wall: truth + skew, continuous: truth - startedAt, boot: "\(boot)",
            server: hearsServer ? truth + error : nil)
    }

    mutating func readClocks(at truth: Milliseconds) {
        let reading = Self.reading(truth, skew, startedAt: startedAt, boot: boot, hearsServer)
        guard let rebasing = clock.advance(to: reading) else { return }
        let difference = rebasing.difference
        for (id, var message) in held where message.inputs.base.clock == .device(run: rebasing.run) {
            message.inputs.base = MessageBase(time: message.inputs.base.time.plus(difference), clock: .server)
            message.term.shared = message.term.shared?.plus(difference)
            message.term.local = message.term.local?.plus(difference)
            message.term.own = message.term.own?.plus(difference)
            held[id] = message
        }
        storedClock = clock
    }

    /// How long until something is to be purged; `nil`: nothing is.
    var timer: Milliseconds? {
        let times = clock.trusted
        return held.values.compactMap { times.remaining(until: $0.term.local, base: $0.inputs.base) }.min()
    }

    // MARK: Messages

    mutating func admit(_ letter: Letter, of author: ParticipantID, stamp: MessageStamp) -> Admission {
        guard held[letter.id] == nil, tombstones[letter.id] == nil else { return .replay }
        let base = clock.base(relayTime: letter.relayTime, age: Milliseconds(stamp.age))
        storedClock = clock
        let inputs = TermInputs(
            author: author, base: base, sharedBase: clock.sharedTime(base), stamp: stamp.policy, ownPolicy: own.policy)
        let term = state.term(of: inputs, reader: owner, limits: limits)
        held[letter.id] = Held(inputs: inputs, term: term, quotes: letter.quotes)
        followQuotes()
        guard let message = held[letter.id] else { return .arrivedExpired }
        if clock.trusted.isDue(message.term.local, base: base) {
            end(letter.id, isOver: true)
            return .arrivedExpired
        }
        return .kept
    }

    /// Lets quotes end with what they quote, also quotes of quotes; what is not stored is known by its tombstone alone.
    mutating func followQuotes() {
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for (id, message) in held {
                var term = message.term
                if let quoted = message.quotes, let other = held[quoted] {
                    term = term.quoting(
                        converted(other, to: message.inputs.base.clock),
                        notBefore: limits.least(after: message.inputs.base.time))
                } else if let quoted = message.quotes, tombstones[quoted]?.isOver == true {
                    let base = message.inputs.base.time
                    term.local = MessageTerm.first(term.local, limits.least(after: base) ?? base)
                }
                guard term != message.term else { continue }
                held[id]?.term = term
                hasChanged = true
            }
        }
        for (id, message) in held where !message.term.isStored && tombstones[id] == nil {
            tombstones[id] = tombstone(of: message, isOver: false)
        }
    }

    /// Whether what a message quotes, and what that quotes, is all here.
    func hasAllQuoted(by id: Int) -> Bool {
        var (next, met): (Int?, Set<Int>) = (id, [])
        while let id = next, met.insert(id).inserted {
            guard let message = held[id] else { return false }
            next = message.quotes
        }
        return true
    }

    private func tombstone(of message: Held, isOver: Bool) -> Tombstone {
        Tombstone(until: Tombstones.until(message.inputs.base, stamp: message.inputs.stamp), isOver: isOver)
    }

    private func converted(_ message: Held, to clock: MessageBase.Clock) -> MessageTerm {
        let (own, term) = (message.inputs.base.clock, message.term)
        func converted(_ deadline: Milliseconds?) -> Milliseconds? {
            deadline.map { self.clock.convert($0, from: own, to: clock) }
        }
        return MessageTerm(
            shared: converted(term.shared), local: converted(term.local), own: converted(term.own),
            isStored: term.isStored)
    }

    /// Lets cuts bind what is here.
    mutating func applyCuts() {
        for (id, var message) in held {
            message.inputs.sharedBase = clock.sharedTime(message.inputs.base)
            let term = state.term(of: message.inputs, reader: owner, limits: limits)
            message.term = message.term.lowered(to: term)
            held[id] = message
        }
        followQuotes()
    }

    /// - Returns: what was purged.
    mutating func purge() -> [Int] {
        let times = clock.trusted
        var purged: [Int] = []
        while let due = held.filter({ times.isDue($0.value.term.local, base: $0.value.inputs.base) }).keys.min() {
            end(due)
            purged.append(due)
            followQuotes()
        }
        if !purged.isEmpty { storedClock = clock }
        for (id, tombstone) in tombstones {
            if let until = tombstone.until, until <= clock.leastShared, held[id] == nil { tombstones[id] = nil }
        }
        return purged
    }

    /// - Parameter isOver: also what was not stored, as when it is over on arrival.
    mutating func end(_ id: Int, isOver: Bool = false) {
        guard let message = held.removeValue(forKey: id) else { return }
        tombstones[id] = tombstone(of: message, isOver: isOver || message.term.isStored)
    }

    /// - Returns: what was in memory only.
    mutating func forgetMemory() -> [Int] {
        let lost = held.filter { !$0.value.term.isStored }.keys.sorted()
        for id in lost { end(id) }
        followQuotes()
        return lost
    }
}
