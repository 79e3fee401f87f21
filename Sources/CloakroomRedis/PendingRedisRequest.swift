import CloakroomLoop

/// A request of the connection's, on its way or waiting for a link. Thousands are kept.
struct PendingRedisRequest {
    var batch: RedisRequest
    let completion: @LoopActor (RedisResponse) -> Void
    /// Whether this is the second time that it is sent.
    private(set) var isRepeat = false
    /// Whether it is behind `ASKING`, and its sender deals with what redirects it.
    private(set) var isAsked = false
    /// How often a server of a cluster has sent it elsewhere.
    private(set) var redirections: UInt8 = 0
    /// When that was first; in milliseconds, of which the count begins anew after 49 days.
    private var firstRedirection: UInt32 = 0

    init(_ batch: RedisRequest, completion: @escaping @LoopActor (RedisResponse) -> Void) {
        self.batch = batch
        self.completion = completion
    }

    var mayRepeat: Bool { batch.mayRepeat && !isRepeat }

    /// The second time.
    var again: PendingRedisRequest {
        var again = self
        again.isRepeat = true
        return again
    }

    /// One of its parts, in the order of the replies.
    func part(_ number: Int, _ completion: @escaping @LoopActor (RedisResponse) -> Void) -> PendingRedisRequest {
        copy(batch.part(number), completion)
    }

    /// The same behind `ASKING`.
    func asked(
        _ batch: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void
    ) -> PendingRedisRequest {
        var asked = copy(batch, completion)
        asked.isAsked = true
        return asked
    }

    private func copy(
        _ batch: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void
    ) -> PendingRedisRequest {
        var copy = PendingRedisRequest(batch, completion: completion)
        copy.isRepeat = isRepeat
        copy.redirections = redirections
        copy.firstRedirection = firstRedirection
        return copy
    }

    // MARK: Redirections

    /// The same, sent elsewhere once more.
    ///
    /// - Returns: `nil` when the first was longer ago than that.
    func redirected(within limit: Duration) -> PendingRedisRequest? {
        let now = UInt32(truncatingIfNeeded: Monotonic.now / 1_000_000)
        var next = self
        if redirections == 0 {
            next.firstRedirection = now
        } else if now &- firstRedirection > UInt32(limit.milliseconds) {
            return nil
        }
        next.redirections = redirections == .max ? .max : redirections + 1
        return next
    }

    /// Before it is sent elsewhere: 10 ms, and twice as long each further time, up to 80 ms.
    var redirectionPause: Duration { .milliseconds(10 << min(3, max(0, Int(redirections) - 1))) }
}
