import Synchronization
import Testing

@testable import CloakroomKit

struct BackgroundRunTests {
    private final class Results: Sendable {
        private let list = Mutex<[Bool]>([])
        func add(_ response: Bool) { list.withLock { $0.append(response) } }
        var all: [Bool] { list.withLock { $0 } }
    }

    private struct RunError: Error {}

    @Test(arguments: [false, true])
    func `reports to the system once how the work ended`(fails: Bool) async {
        let results = Results()
        let run = BackgroundRun {
            if fails { throw RunError() }
        } done: {
            results.add($0)
        }
        await run.end()
        run.expire()
        #expect(results.all == [!fails])
    }

    @Test(arguments: [false, true])
    func `cancels work whose time is over, and does not call it done`(throwsThen: Bool) async {
        let results = Results()
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let (never, _) = AsyncStream<Void>.makeStream()
        let run = BackgroundRun {
            begin.finish()
            // Ends by being cancelled alone.
            for await _ in never {}
            if throwsThen { throw RunError() }
        } done: {
            results.add($0)
        }
        for await _ in begun {}
        run.expire()
        run.expire()
        await run.end()
        #expect(results.all == [false])
    }
}
