import CloakroomAWS
import CloakroomLoop

/// The objects of one request on their way: what has not been sent yet, and what became of the rest.
@LoopActor
final class ReleaseBatch {
    let deadline: ContinuousClock.Instant
    private let objects: [ObjectAddress]
    private var next = 0
    private var left: Int
    private var outcomes: [Release]
    private var whenDone: CheckedContinuation<[Release], Never>?

    /// - Parameter objects: each once; at least one.
    init(_ objects: [ObjectAddress], deadline: ContinuousClock.Instant) {
        self.objects = objects
        self.deadline = deadline
        left = objects.count
        outcomes = Array(repeating: .unavailable(retryAfter: nil, code: "NotSent"), count: objects.count)
    }

    var hasMore: Bool { next < objects.count }

    /// - Precondition: there is one.
    func nextObject() -> (position: Int, object: ObjectAddress) {
        defer { next += 1 }
        return (next, objects[next])
    }

    func finish(_ position: Int, _ outcome: Release) {
        outcomes[position] = outcome
        left -= 1
        guard left == 0 else { return }
        whenDone?.resume(returning: outcomes)
        whenDone = nil
    }

    /// - Returns: by the positions of the objects.
    func finished(_ start: () -> Void) async -> [Release] {
        await withCheckedContinuation { continuation in
            whenDone = continuation
            start()
        }
    }
}
