package import CloakroomLoop

/// Objects of many requests on their way to S3: as many at once as S3 keeps up with, requests taking turns.
///
/// Renewals and releases share one: together they have no more on the way than is allowed.
@LoopActor
package final class ObjectQueue {
    private let limiter: CopyConcurrencyLimiter
    private var queue = FairQueue<ObjectBatch>()
    /// Objects on the way.
    private(set) var running = 0
    /// Objects of requests that are not on the way yet.
    private(set) var waiting = 0

    /// - Parameter limiter: told of each attempt at S3 by the code that makes it.
    package init(_ limiter: CopyConcurrencyLimiter) { self.limiter = limiter }

    /// How many objects may be on the way at once now.
    var allowed: Int { limiter.current }

    /// Does something at each position of a request's objects; returns when all of that is done.
    func perform(_ count: Int, _ work: @escaping @LoopActor (Int) async -> Void) async {
        guard count > 0 else { return }
        await withCheckedContinuation { continuation in
            waiting += count
            queue.join(ObjectBatch(count: count, work, whenDone: continuation))
            start()
        }
    }

    /// An object that waits for its turn is a position in its batch; a task is one object after the other.
    private func start() {
        while running < limiter.current, let batch = queue.next() {
            running += 1
            let position = nextPosition(of: batch)
            LoopActor.spawn { [self] in await run(batch, position) }
        }
    }

    private func nextPosition(of batch: ObjectBatch) -> Int {
        defer { if batch.next < batch.count { queue.rejoin(batch) } }
        batch.next += 1
        waiting -= 1
        return batch.next - 1
    }

    private func run(_ batch: ObjectBatch, _ position: Int) async {
        var (batch, position) = (batch, position)
        while true {
            await batch.work(position)
            batch.finishOne()
            guard running <= limiter.current, let next = queue.next() else { break }
            (batch, position) = (next, nextPosition(of: next))
            if running < limiter.current { start() }
        }
        running -= 1
    }
}

/// The objects of one request: which is next, and how many are not done.
@LoopActor
private final class ObjectBatch {
    let count: Int
    let work: @LoopActor (Int) async -> Void
    var next = 0
    private var left: Int
    private let whenDone: CheckedContinuation<Void, Never>

    init(count: Int, _ work: @escaping @LoopActor (Int) async -> Void, whenDone: CheckedContinuation<Void, Never>) {
        self.count = count
        self.work = work
        self.whenDone = whenDone
        left = count
    }

    func finishOne() {
        left -= 1
        if left == 0 { whenDone.resume() }
    }
}
