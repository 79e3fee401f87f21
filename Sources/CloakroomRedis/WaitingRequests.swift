import CloakroomLoop

/// Requests that wait until it is known where they go, and for no longer than they may.
@LoopActor
struct WaitingRequests {
    private let limit: Int
    private var requests: [PendingRedisRequest] = []
    private var isOver = false

    /// - Parameter limit: how many may wait.
    init(limit: Int) { self.limit = limit }

    var count: Int { requests.count }

    /// - Returns: whether it may wait.
    mutating func add(_ request: PendingRedisRequest) -> Bool {
        guard !isOver, requests.count < limit else { return false }
        requests.append(request)
        return true
    }

    /// Those that have waited, in order.
    mutating func take() -> [PendingRedisRequest] {
        defer { requests = [] }
        return requests
    }

    /// The same; none waits from now on.
    mutating func end() -> [PendingRedisRequest] {
        isOver = true
        return take()
    }
}
