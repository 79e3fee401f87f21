/// Keeps a client from hammering a service that is down: retries cost tokens, successes bring them back.
///
/// Shared by the calls of one client, and kept by its actor.
/// Source: botocore 1.44.5, `retries/standard.py`.
final class RetryQuota {
    private let capacity: Int
    private(set) var tokens: Int

    init(capacity: Int = 500) {
        self.capacity = capacity
        self.tokens = capacity
    }

    /// - Returns: what a retry after this fault costs, already taken; `nil` when it is not there.
    func take(for fault: AWSError) -> Int? {
        let cost = fault.kind == .throttled ? 5 : 14
        guard tokens >= cost else { return nil }
        tokens -= cost
        return cost
    }

    /// - Parameter cost: of the retry that succeeded; 0 for a success at the first attempt.
    func refund(_ cost: Int) {
        tokens = min(capacity, tokens + max(cost, 1))
    }
}
