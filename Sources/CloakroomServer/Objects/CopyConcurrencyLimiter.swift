package import CloakroomAWS
package import CloakroomLoop

/// How many copies this process has on the way at once: additive increase, multiplicative decrease.
///
/// It is told of every attempt at S3. As many successes as are allowed at once allow one more, up to the setting;
/// "slow down" halves what is allowed, once for all copies that were on the way when it was halved.
@LoopActor
package final class CopyConcurrencyLimiter {
    private let maximum: Double
    private let metrics: Metrics
    private var allowed: Double
    private var lastDecrease: ContinuousClock.Instant?

    /// - Parameter maximum: also what is allowed at first.
    package init(maximum: Int, metrics: Metrics) {
        precondition(maximum > 0)
        self.maximum = Double(maximum)
        self.metrics = metrics
        allowed = self.maximum
        metrics.allowsCopies(maximum)
    }

    /// At least one.
    package var current: Int { Int(allowed) }

    package func observe(_ attempt: Attempt, now: @autoclosure () -> ContinuousClock.Instant = .now) {
        guard attempt.service == .s3 else { return }
        guard let fault = attempt.fault else {
            if allowed < maximum { set(min(maximum, allowed + 1 / allowed)) }
            return
        }
        guard fault.kind == .throttled else { return }
        let now = now()
        if let lastDecrease, now - attempt.duration < lastDecrease { return }
        lastDecrease = now
        set(max(1, allowed / 2))
    }

    private func set(_ value: Double) {
        let before = current
        allowed = value
        if current != before { metrics.allowsCopies(current) }
    }
}

/// Who waits takes turns, one thing at a time; who has just come is served between two of the others.
///
/// So a batch of one key waits for two turns at most, however many keys the batches beside it have, and those who come
/// all the time take no more than every other turn from those who wait (RFC 8290 §4.2 has such a list of new flows).
struct FairQueue<Party> {
    private var newcomers = Line()
    private var others = Line()
    private var isNewcomerNext = true

    var isEmpty: Bool { newcomers.isEmpty && others.isEmpty }

    /// A party that has not had a turn.
    mutating func join(_ party: Party) { newcomers.append(party) }

    /// Back in line, after a turn.
    mutating func rejoin(_ party: Party) { others.append(party) }

    /// Whose turn it is; the party leaves the line.
    mutating func next() -> Party? {
        let party =
            isNewcomerNext ? newcomers.popFirst() ?? others.popFirst() : others.popFirst() ?? newcomers.popFirst()
        isNewcomerNext.toggle()
        return party
    }

    /// A queue in an array, at a cost of one move each.
    private struct Line {
        private var parties: [Party?] = []
        private var head = 0

        var isEmpty: Bool { head == parties.count }

        mutating func append(_ party: Party) { parties.append(party) }

        mutating func popFirst() -> Party? {
            guard head < parties.count else { return nil }
            let party = parties[head].take()
            head += 1
            if head == parties.count || head >= 64 && head > parties.count / 2 {
                parties.removeFirst(head)
                head = 0
            }
            return party
        }
    }
}
