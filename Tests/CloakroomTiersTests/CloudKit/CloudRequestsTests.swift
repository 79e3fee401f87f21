import Foundation
import Synchronization
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct CloudRequestsTests {
    private final class Log: Sendable {
        let sizes = Mutex<[Int]>([])
        let waits = Mutex<[Double]>([])
    }

    private func send(
        _ items: [(name: String, bytes: Int)], log: Log,
        _ respond: @Sendable (_ request: Int, _ names: [String]) throws(CloudFault) -> [String: CloudFault] = {
            _, _ in [:]
        }
    ) async -> [String: Result<String, CloudFault>] {
        let requests = CloudRequests { wait in log.waits.withLock { $0.append(wait / .seconds(1)) } }
        return await requests.send(items, name: { $0.name }, byteCount: { $0.bytes }) {
            (items) async throws(CloudFault) in
            let number = log.sizes.withLock {
                $0.append(items.count)
                return $0.count
            }
            let faults = try respond(number, items.map(\.name))
            return Dictionary(
                items.map { item in (item.name, faults[item.name].map { .failure($0) } ?? .success(item.name)) }
            ) { first, _ in first }
        }
    }

    private func items(_ count: Int, bytes: Int = 100) -> [(name: String, bytes: Int)] {
        (0..<count).map { ("\($0)", bytes) }
    }

    @Test func `sends at most 400 records in a request`() async {
        let log = Log()
        let results = await send(items(1001), log: log)
        #expect(log.sizes.withLock { $0 } == [400, 400, 201])
        #expect(results.count == 1001)
    }

    @Test func `sends at most two megabytes in a request`() async {
        let log = Log()
        _ = await send(items(10, bytes: 600_000), log: log)
        #expect(log.sizes.withLock { $0 } == [3, 3, 3, 1])
    }

    @Test func `splits a request that is too large`() async {
        let log = Log()
        let results = await send(items(100), log: log) { _, names throws(CloudFault) in
            if names.count > 30 { throw .limitExceeded }
            return [:]
        }
        #expect(log.sizes.withLock { $0 } == [100, 50, 25, 25, 50, 25, 25])
        #expect(results.values.allSatisfy { (try? $0.get()) != nil })
        #expect(log.waits.withLock { $0 } == [])
    }

    @Test func `fails for a single record that is too large, and only for that one`() async {
        let results = await send(items(4), log: Log()) { _, names throws(CloudFault) in
            if names.contains("2") { throw .limitExceeded }
            return [:]
        }
        #expect(results.filter { (try? $0.value.get()) == nil }.keys.sorted() == ["2"])
        #expect(results["2"] == .failure(.limitExceeded))
    }

    @Test func `gives each record of a partial failure its own result`() async {
        let log = Log()
        let results = await send(items(5), log: log) { number, _ throws(CloudFault) in
            guard number == 1 else { return [:] }
            throw .partialFailure(["1": .quotaExceeded, "3": .unknownItem])
        }
        #expect(results["1"] == .failure(.quotaExceeded))
        #expect(results["3"] == .failure(.unknownItem))
        #expect(["0", "2", "4"].allSatisfy { results[$0] == .success($0) })
        #expect(log.sizes.withLock { $0 } == [5, 3])
    }

    @Test func `waits for the longest that the records were told, and sends only these again`() async {
        let log = Log()
        let results = await send(items(5), log: log) { number, _ in
            number == 1 ? ["0": .busy(retryAfter: .seconds(2)), "4": .busy(retryAfter: .seconds(8))] : [:]
        }
        #expect(log.sizes.withLock { $0 } == [5, 2])
        #expect(log.waits.withLock { $0 } == [8])
        #expect(results.values.allSatisfy { (try? $0.get()) != nil })
    }

    @Test func `gives up after four attempts`() async {
        let log = Log()
        let results = await send(items(2), log: log) { _, _ throws(CloudFault) in throw .busy(retryAfter: nil) }
        #expect(log.sizes.withLock { $0 } == [2, 2, 2, 2])
        #expect(log.waits.withLock { $0 } == [1, 2, 4])
        #expect(results["1"] == .failure(.busy(retryAfter: nil)))
    }

    @Test func `a record that the response leaves out has failed`() async {
        let requests = CloudRequests { _ in }
        let results: [String: Result<String, CloudFault>] = await requests.send(
            ["a"], name: { $0 }, byteCount: { _ in 1 }
        ) { (_) async throws(CloudFault) in [:] }
        #expect(results["a"] == .failure(.busy(retryAfter: nil)))
    }

    @Test func `a wait that is cancelled ends the requests`() async {
        let requests = CloudRequests { _ in throw CancellationError() }
        let results: [String: Result<String, CloudFault>] = await requests.send(
            ["a"], name: { $0 }, byteCount: { _ in 1 }
        ) { (_) async throws(CloudFault) in throw .busy(retryAfter: nil) }
        #expect(results["a"] == .failure(.cancelled))
    }
}
