import Foundation
import Synchronization

/// Requests from several threads at a bounded rate, until told to stop; every answer is counted.
final class Load: Sendable {
    struct Tally: Sendable {
        /// Answers by status; requests without any answer under 0.
        var byStatus: [Int: Int] = [:]
        /// What went wrong, the first few.
        var failures: [String] = []
        var slowestMilliseconds = 0.0

        var total: Int { byStatus.values.reduce(0, +) }
    }

    private let tally = Mutex(Tally())
    private let stopped = Flag()
    private let running: DispatchGroup

    /// - Parameters:
    ///   - pause: between the requests of one thread.
    ///   - ask: gives one request's answer; called on every thread, with the number of the request.
    init(threads: Int = 4, pause: Duration = .milliseconds(1), _ ask: @escaping @Sendable (Int) throws -> TestResponse)
    {
        running = DispatchGroup()
        let numbers = Counter()
        for _ in 0..<threads {
            running.enter()
            let thread = Thread { [self, running] in
                while !stopped.isRaised {
                    one { try ask(numbers.next()) }
                    usleep(UInt32(pause / .microseconds(1)))
                }
                running.leave()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    var soFar: Tally { tally.withLock { $0 } }

    /// Ends after the requests under way.
    func stop() -> Tally {
        stopped.raise()
        running.wait()
        return soFar
    }

    private func one(_ ask: () throws -> TestResponse) {
        let start = milliseconds()
        let outcome = Result { try ask() }
        let duration = milliseconds() - start
        tally.withLock { tally in
            tally.slowestMilliseconds = max(tally.slowestMilliseconds, duration)
            switch outcome {
            case .success(let reply): tally.byStatus[reply.status, default: 0] += 1
            case .failure(let error):
                tally.byStatus[0, default: 0] += 1
                if tally.failures.count < 5 { tally.failures.append("\(error)") }
            }
        }
    }
}
