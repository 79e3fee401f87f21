import CloakroomAWS
import CloakroomLoop

/// What the keys of one request have in common while they are renewed.
@LoopActor
final class RenewalBatch {
    let deadline: ContinuousClock.Instant
    /// By the positions of the keys.
    var outcomes: [Renewal.Outcome]
    /// By the positions of keys that S3 refused, perhaps for what they are.
    var refusals: [Int: [RenewalPermissions.Refusal]] = [:]
    /// Why the worker could not look for images of chats; `nil` where it could, or need not.
    var chatDenial: String?
    /// The whole keys of the objects that S3 has copied.
    private(set) var copiedKeys: [String] = []
    /// All attempts at S3 so far.
    private var counts = AttemptCounts()
    /// By whole key, where several keys may lead to one object: what became of it, and who waits for that.
    private var renewals: [String: Renewal] = [:]
    private var waiting: [String: [CheckedContinuation<Renewal, Never>]] = [:]

    init(count: Int, deadline: ContinuousClock.Instant) {
        self.deadline = deadline
        outcomes = Array(repeating: .unavailable(retryAfter: nil, code: "NotSent"), count: count)
    }

    /// Whether S3 was called and unavailable for each of the keys. Not while it copies one of them, nor where it throttled or
    /// no key had its turn in time, which a flood of requests may cause.
    var isUnserved: Bool {
        counts.attempts > 0 && counts.throttles == 0
            && outcomes.allSatisfy { outcome in
                guard case .unavailable(_, let code) = outcome else { return false }
                return !Renewal.copyingCodes.contains(code)
            }
    }

    /// Takes note of the attempts, and of an object that was copied; of one that several keys lead to, once.
    func note(_ renewal: Renewal, of key: String) {
        counts.attempts += renewal.counts.attempts
        counts.throttles += renewal.counts.throttles
        guard case .renewed = renewal.outcome, renewal.counts.attempts > 0 || renewal.isOfEarlierCopy else { return }
        copiedKeys.append(key)
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
