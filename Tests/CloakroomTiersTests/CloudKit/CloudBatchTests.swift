import Foundation
import Synchronization
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct CloudBatchTests {
    /// Requests that end when the test says so.
    private struct Gate {
        final class Log: Sendable { let sizes = Mutex<[Int]>([]) }

        let log = Log()
        let batch: CloudBatch<String, String>
        private let opening: AsyncStream<Void>.Continuation

        init() {
            let (stream, opening) = AsyncStream<Void>.makeStream()
            self.opening = opening
            batch = CloudBatch(name: { $0 }) { [log] items in
                log.sizes.withLock { $0.append(items.count) }
                for await _ in stream {}
                return Dictionary(items.map { ($0, .success($0)) }) { first, _ in first }
            }
        }

        func open() { opening.finish() }
    }

    @Test func `joins what comes while requests are under way`() async throws {
        let gate = Gate()
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<2 { group.addTask { try await gate.batch.send("first \(number)") } }
            while gate.log.sizes.withLock({ $0.count }) < 2 { await Task.yield() }
            for number in 0..<500 { group.addTask { try await gate.batch.send("\(number)") } }
            while await gate.batch.waitingCount < 500 { await Task.yield() }
            gate.open()
            var results: Set<String> = []
            for try await result in group { results.insert(result) }
            #expect(results.count == 502)
        }
        #expect(gate.log.sizes.withLock { $0 } == [1, 1, 400, 100])
    }

    @Test func `names no record twice in a request`() async throws {
        let gate = Gate()
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<2 { group.addTask { try await gate.batch.send("first \(number)") } }
            while gate.log.sizes.withLock({ $0.count }) < 2 { await Task.yield() }
            for _ in 0..<3 { group.addTask { try await gate.batch.send("same") } }
            while await gate.batch.waitingCount < 3 { await Task.yield() }
            gate.open()
            for try await _ in group {}
        }
        #expect(gate.log.sizes.withLock { $0 } == [1, 1, 1, 1, 1])
    }

    @Test func `lets a cancelled caller go at once, and the others have their results`() async throws {
        let gate = Gate()
        let first = Task { try await gate.batch.send("first") }
        while gate.log.sizes.withLock({ $0.count }) < 1 { await Task.yield() }
        first.cancel()
        let result = await first.result
        #expect(throws: CloudFault.cancelled) { try result.get() }
        let second = Task { try await gate.batch.send("second") }
        while gate.log.sizes.withLock({ $0.count }) < 2 { await Task.yield() }
        let third = Task { try await gate.batch.send("third") }
        while await gate.batch.waitingCount < 1 { await Task.yield() }
        third.cancel()
        _ = await third.result
        gate.open()
        #expect(try await second.value == "second")
        #expect(gate.log.sizes.withLock { $0 } == [1, 1])
    }
}
