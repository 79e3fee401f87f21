import Redis

/// What Redis is asked for one subject's requests of one kind; kept, for who asks once mostly asks again.
final class LimitQuestion: Sendable {
    /// Whose requests are counted together, and whose record is read with the count.
    struct Asker: Hashable {
        let name: LimitName
        let party: String
        let user: UserID

        init(_ charge: Charge, _ subject: Subject) {
            name = charge.name
            party = subject.party
            user = subject.userID
        }

        /// Users may share a device: many of them must not share one place in a table.
        func hash(into hasher: inout Hasher) {
            hasher.combine(party)
            hasher.combine(user)
        }
    }

    let charge: Charge
    let subject: Subject
    /// By which Redis refuses.
    let terms: LimitTerms
    let words: RedisQuestion

    init(_ charge: Charge, _ subject: Subject, by terms: LimitTerms, _ words: RedisQuestion) {
        self.charge = charge
        self.subject = subject
        self.terms = terms
        self.words = words
    }

    var readsRecord: Bool { words.replies == 2 }

    /// Whether it is just what its asker asks now. A token may come that names another tier.
    func isFor(_ charge: Charge, _ subject: Subject, readsRecord: Bool) -> Bool {
        charge.volume == self.charge.volume && readsRecord == self.readsRecord && subject.tier == self.subject.tier
    }
}

extension LimitCount {
    /// Reads the script's answer: used and left of each window, before the request was counted.
    static func read(_ reading: inout RedisReading, by terms: LimitTerms) -> Result<LimitCount, RedisError> {
        if let refusal = reading.refusal { return .failure(refusal) }
        let hasVolume = terms.volume != nil
        guard reading.next() == .array(hasVolume ? 4 : 2), let requests = Window(&reading) else {
            return .failure(.refused(code: "MALFORMED"))
        }
        guard hasVolume else { return .success(LimitCount(requests: requests, volume: nil)) }
        guard let volume = Window(&reading) else { return .failure(.refused(code: "MALFORMED")) }
        return .success(LimitCount(requests: requests, volume: volume))
    }

    static func read(_ answer: RedisAnswer, by terms: LimitTerms) -> Result<LimitCount, RedisError> {
        switch answer {
        case .failure(let error): .failure(error)
        case .reply(var reading): read(&reading, by: terms)
        }
    }
}

extension LimitCount.Window {
    /// A year.
    private static let longestMilliseconds = 366 * 86_400_000

    /// What was used, and the milliseconds that are left: neither is below zero, whatever Redis sends.
    fileprivate init?(_ reading: inout RedisReading) {
        guard case .integer(let used) = reading.next(), case .integer(let milliseconds) = reading.next() else {
            return nil
        }
        // The longest window is far shorter, and no count comes near.
        self.init(
            used: min(max(0, used), 1 << 53), left: .milliseconds(min(max(0, milliseconds), Self.longestMilliseconds)))
    }
}
