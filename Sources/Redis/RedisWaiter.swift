import Loop

/// What became of one command: its reply, or why there is none.
package typealias RedisOutcome = Result<RedisReply, RedisError>

/// Who is called with the outcome of a command, or of two that belong together.
///
/// Replies come in the order of the commands, so of two the first comes first: the connection holds it until the other
/// is there.
enum RedisWaiter {
    case one(@LoopActor (RedisOutcome) -> Void)
    case both(@LoopActor (RedisOutcome, RedisOutcome) -> Void)

    /// Tells why nothing came.
    ///
    /// - Parameter first: what came of two before that.
    @LoopActor
    func refuse(_ error: RedisError, after first: RedisOutcome? = nil) {
        switch self {
        case .one(let completion): completion(.failure(error))
        case .both(let completion): completion(first ?? .failure(error), .failure(error))
        }
    }
}
