import AWS
import Loop

/// The keys of one request on their way: what has not been sent yet, and what became of the rest.
@LoopActor
final class RenewalBatch {
    let deadline: ContinuousClock.Instant
    private let keys: [String]
    private var next = 0
    private var left: Int
    private var outcomes: [Renewal.Outcome]
    /// By the places of keys that S3 refused, perhaps for what they are.
    private(set) var refusals: [Int: [RenewalRights.Refusal]] = [:]
    private var whenDone: CheckedContinuation<[Renewal.Outcome], Never>?

    /// - Parameter keys: whole, and each once; at least one.
    init(_ keys: [String], deadline: ContinuousClock.Instant) {
        self.keys = keys
        self.deadline = deadline
        left = keys.count
        outcomes = Array(repeating: .unavailable(retryAfter: nil, code: "NotSent"), count: keys.count)
    }

    var hasMore: Bool { next < keys.count }

    /// - Precondition: there is one.
    func takeKey() -> (place: Int, key: String) {
        defer { next += 1 }
        return (next, keys[next])
    }

    func finish(_ place: Int, _ outcome: Renewal.Outcome) {
        outcomes[place] = outcome
        left -= 1
        guard left == 0 else { return }
        whenDone?.resume(returning: outcomes)
        whenDone = nil
    }

    func finish(_ place: Int, _ outcome: Renewal.Outcome, refusals: [RenewalRights.Refusal]) {
        if !refusals.isEmpty { self.refusals[place] = refusals }
        finish(place, outcome)
    }

    /// - Returns: by the places of the keys.
    func finished(_ start: () -> Void) async -> [Renewal.Outcome] {
        await withCheckedContinuation { continuation in
            whenDone = continuation
            start()
        }
    }
}
