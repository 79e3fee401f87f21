import CloakroomAWS
import CloakroomLoop

/// The keys of one request on their way: what has not been sent yet, and what became of the rest.
@LoopActor
final class RenewalBatch {
    let deadline: ContinuousClock.Instant
    private let keys: [String]
    private var next = 0
    private var left: Int
    private var outcomes: [Renewal.Outcome]
    /// By the positions of keys that S3 refused, perhaps for what they are.
    private(set) var refusals: [Int: [RenewalPermissions.Refusal]] = [:]
    /// By whole key, where several keys may lead to one object: what became of it, and who waits for that.
    private var renewals: [String: Renewal] = [:]
    private var waiting: [String: [CheckedContinuation<Renewal, Never>]] = [:]
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
    func nextKey() -> (position: Int, key: String) {
        defer { next += 1 }
        return (next, keys[next])
    }

    /// Renews an object once, however many keys of the batch lead to it.
    ///
    /// - Returns: for all but the first of them without an effort: nothing was sent for them.
    func once(_ key: String, _ renew: () async -> Renewal) async -> Renewal {
        if let renewal = renewals[key] { return renewal }
        if waiting[key] != nil { return await withCheckedContinuation { waiting[key]?.append($0) } }
        waiting[key] = []
        let renewal = await renew()
        let shared = Renewal(outcome: renewal.outcome, counts: AttemptCounts())
        renewals[key] = shared
        waiting.removeValue(forKey: key)?.forEach { $0.resume(returning: shared) }
        return renewal
    }

    func finish(_ position: Int, _ outcome: Renewal.Outcome) {
        outcomes[position] = outcome
        left -= 1
        guard left == 0 else { return }
        whenDone?.resume(returning: outcomes)
        whenDone = nil
    }

    func finish(_ position: Int, _ outcome: Renewal.Outcome, refusals: [RenewalPermissions.Refusal]) {
        if !refusals.isEmpty { self.refusals[position] = refusals }
        finish(position, outcome)
    }

    /// - Returns: by the positions of the keys.
    func finished(_ start: () -> Void) async -> [Renewal.Outcome] {
        await withCheckedContinuation { continuation in
            whenDone = continuation
            start()
        }
    }
}

/// The keys of a request, each once; two are the same when their bytes are.
struct DistinctKeys {
    private(set) var keys: [String] = []
    /// Of each key of the request its position in ``keys``.
    private(set) var positions: [Int] = []

    init(_ all: [String]) {
        keys.reserveCapacity(all.count)
        positions.reserveCapacity(all.count)
        var texts: [String: Int] = [:]
        texts.reserveCapacity(all.count)
        // Swift's strings are equal when they look the same: beyond ASCII that is not the same object.
        var others: [[UInt8]: Int] = [:]
        for key in all {
            let position =
                key.utf8.allSatisfy { $0 < 0x80 }
                ? texts.position(of: key, next: keys.count) : others.position(of: Array(key.utf8), next: keys.count)
            if position == keys.count { keys.append(key) }
            positions.append(position)
        }
    }
}

extension Dictionary where Value == Int {
    fileprivate mutating func position(of key: Key, next: Int) -> Int {
        let position = self[key, default: next]
        self[key] = position
        return position
    }
}
