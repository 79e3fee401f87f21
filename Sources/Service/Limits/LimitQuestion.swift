import Redis

/// What Redis is asked for one subject's requests of one kind; kept, for who asks once mostly asks again.
final class LimitQuestion: Sendable {
    /// Whose requests are counted together, and whose record is read with the count.
    struct Asker: Hashable {
        let name: LimitName
        let owner: String
        let device: String

        init(_ charge: Charge, _ subject: Subject) {
            name = charge.name
            owner = subject.owner
            device = subject.device
        }

        /// Users may share a device: many of them must not share one place in a table.
        func hash(into hasher: inout Hasher) {
            hasher.combine(owner)
            hasher.combine(device)
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

    /// Whether the device's windows and the user's are counted by a call each: they may lie in different slots.
    var isSplit: Bool { subject.provenDevice != nil }
    var readsRecord: Bool { words.replies == (isSplit ? 3 : 2) }

    /// Whether it is just what its asker asks now. A token may come that names another tier.
    func isFor(_ charge: Charge, _ subject: Subject, readsRecord: Bool) -> Bool {
        charge.volume == self.charge.volume && readsRecord == self.readsRecord && subject.tier == self.subject.tier
            && subject.provenDevice == self.subject.provenDevice
    }

    /// What of the request Redis has counted: all or nothing by each call.
    func taken(_ count: LimitCount) -> LimitParts {
        let admitting = count.admitting(charge, by: terms)
        return isSplit || admitting == .all ? admitting : []
    }
}

extension LimitCount {
    /// Reads what the script answers, or each of its two calls: used and left of each window, before the request was
    /// counted.
    static func read(_ reading: inout RedisReading, isSplit: Bool, hasVolume: Bool) -> Result<LimitCount, RedisError> {
        if let refusal = reading.refusal { return .failure(refusal) }
        let values = hasVolume ? 4 : 2
        guard reading.next() == .array(isSplit ? values : 2 * values), let device = Pair(&reading, hasVolume) else {
            return .failure(.refused(code: "MALFORMED"))
        }
        if isSplit {
            reading.goTo(reply: 1)
            if let refusal = reading.refusal { return .failure(refusal) }
            guard reading.next() == .array(values) else { return .failure(.refused(code: "MALFORMED")) }
        }
        guard let user = Pair(&reading, hasVolume) else { return .failure(.refused(code: "MALFORMED")) }
        return .success(LimitCount(device: device, user: user))
    }

    static func read(_ answer: RedisAnswer, of question: LimitQuestion) -> Result<LimitCount, RedisError> {
        switch answer {
        case .failure(let error): .failure(error)
        case .reply(var reading):
            read(&reading, isSplit: question.isSplit, hasVolume: question.terms.volume != nil)
        }
    }
}

extension LimitCount.Pair {
    fileprivate init?(_ reading: inout RedisReading, _ hasVolume: Bool) {
        guard let requests = LimitCount.Window(&reading) else { return nil }
        guard hasVolume else {
            self.init(requests: requests, volume: nil)
            return
        }
        guard let volume = LimitCount.Window(&reading) else { return nil }
        self.init(requests: requests, volume: volume)
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
