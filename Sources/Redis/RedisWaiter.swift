import Loop

/// Who waits for a reply: one for one, or one for two that belong together.
@LoopActor
enum RedisWaiter {
    typealias Outcome = Result<RedisReply, RedisError>

    case single(CheckedContinuation<Outcome, Never>)
    case first(Pair)
    case second(Pair)

    /// Replies come in order, but a command that is refused has its outcome at once: each is kept until both are there.
    @LoopActor
    final class Pair {
        private let continuation: CheckedContinuation<(Outcome, Outcome), Never>
        private var first: Outcome?
        private var second: Outcome?

        init(_ continuation: CheckedContinuation<(Outcome, Outcome), Never>) { self.continuation = continuation }

        fileprivate func take(first outcome: Outcome) {
            first = outcome
            finish()
        }

        fileprivate func take(second outcome: Outcome) {
            second = outcome
            finish()
        }

        private func finish() {
            if let first, let second { continuation.resume(returning: (first, second)) }
        }
    }

    func resume(returning outcome: Outcome) {
        switch self {
        case .single(let continuation): continuation.resume(returning: outcome)
        case .first(let pair): pair.take(first: outcome)
        case .second(let pair): pair.take(second: outcome)
        }
    }
}
