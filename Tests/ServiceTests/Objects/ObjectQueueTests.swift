import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomServer

@Suite(.onLoop)
struct ObjectQueueTests {
    @Test @LoopActor func `ends when something was done at each position, once`() async throws {
        let queue = ObjectQueue(CopyConcurrencyLimiter(maximum: 3, metrics: try Metrics()))
        let load = Load()
        await queue.perform(20) { position in
            // The later ones end first.
            for _ in 0..<(20 - position) { await Task.yield() }
            await load.carry(position)
        }
        #expect(load.carried.sorted() == Array(0..<20))
        await queue.perform(0) { await load.carry($0) }
        #expect(load.carried.count == 20)
    }

    @Test @LoopActor func `requests together have no more on the way than is allowed`() async throws {
        let queue = ObjectQueue(CopyConcurrencyLimiter(maximum: 4, metrics: try Metrics()))
        let load = Load()
        let first = LoopActor.spawn { await queue.perform(50) { await load.carry($0) } }
        let second = LoopActor.spawn { await queue.perform(50) { await load.carry(50 + $0) } }
        await first.value
        await second.value
        #expect(load.carried.sorted() == Array(0..<100))
        #expect(load.most == 4)
    }
}

/// Counts what is under way at once.
@LoopActor
private final class Load {
    private var running = 0
    private(set) var most = 0
    private(set) var carried: [Int] = []

    func carry(_ position: Int) async {
        running += 1
        most = max(most, running)
        for _ in 0..<3 { await Task.yield() }
        running -= 1
        carried.append(position)
    }
}
