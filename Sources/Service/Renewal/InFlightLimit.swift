import Loop

/// How many copies this process has on the way at once: never more than the setting, fewer after S3 said "slow down",
/// one more again after as many good answers as are allowed at once.
@LoopActor
final class InFlightLimit {
    private let maximum: Int
    private var allowed: Double
    private var running = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var head = 0

    init(maximum: Int) {
        precondition(maximum > 0)
        self.maximum = maximum
        allowed = Double(maximum)
    }

    var current: Int { Int(allowed) }

    /// Returns when its turn has come, first come, first served: batches that wait take turns, key by key.
    func enter() async {
        if running < current, head == waiting.count {
            running += 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    /// - Parameter wasThrottled: whether S3 said that it is asked too much.
    func leave(wasThrottled: Bool) {
        running -= 1
        if wasThrottled {
            allowed = max(1, allowed / 2)
        } else {
            allowed = min(Double(maximum), allowed + 1 / allowed)
        }
        admit()
    }

    private func admit() {
        while running < current, head < waiting.count {
            running += 1
            waiting[head].resume()
            head += 1
        }
        // What was admitted is dropped now and then, at a cost that stays one move a waiter.
        if head == waiting.count || (head > 1024 && head > waiting.count / 2) {
            waiting.removeFirst(head)
            head = 0
        }
    }
}
