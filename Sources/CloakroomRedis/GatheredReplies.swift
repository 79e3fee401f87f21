import CloakroomLoop

/// The replies to the parts of a request, until each has one or is lost.
@LoopActor
final class GatheredReplies {
    private var replies: [RedisReplyCursor?]
    private var missing: Int
    private var firstError: RedisError?
    private var hasReply = false
    private let completion: @LoopActor (RedisResponse) -> Void

    init(count: Int, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        replies = Array(repeating: nil, count: count)
        missing = count
        self.completion = completion
    }

    /// One part's; what another server replied is of use also when this is lost.
    func add(_ response: RedisResponse, _ number: Int) {
        switch response {
        case .reply(let reply):
            replies[number] = reply
            hasReply = true
        case .failure(let error):
            replies[number] = RedisReplyCursor(lost: error)
            firstError = firstError ?? error
        }
        missing -= 1
        guard missing == 0 else { return }
        if !hasReply, let firstError { return completion(.failure(firstError)) }
        completion(.reply(RedisReplyCursor(joining: replies.compactMap { $0 })))
    }
}
