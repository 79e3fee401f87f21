import CloakroomKitTestSupport
import Foundation

@testable import CloakroomKit

/// A carrier whose transfers outlive the process, and end as a test says.
actor FakeCarrier: TransferCarrier {
    private(set) var underWay: [String: HTTPRequest] = [:]
    private(set) var started: [HTTPRequest] = []
    private(set) var cancelled: [String] = []
    private let transferEvents = TransferEvents()
    private let s3: FakeS3
    private var failsAfterLook = false
    private var lookGate: Gate?
    /// Whether each event takes some turns of the executor until it is read, as where many tasks are ready.
    private var isReadSlowly = false

    init(_ s3: FakeS3) { self.s3 = s3 }

    func start(_ request: HTTPRequest, id: String) {
        underWay[id] = request
        started.append(request)
    }

    func transfersUnderWay() async -> Set<String> {
        let found = Set(underWay.keys)
        await lookGate?.pass()
        if failsAfterLook {
            failsAfterLook = false
            fail(.timedOut)
            // Until the outbox has read the ends: it is suspended here.
            for _ in 0..<100 { await Task.yield() }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return found
    }

    /// All ends between the next look at what is under way and what comes of it.
    func failAfterNextLook() { failsAfterLook = true }

    /// Looks at what is under way take until the gate is open, and do not see what is begun meanwhile.
    func holdLooks(_ gate: Gate) { lookGate = gate }

    func cancel(id: String) {
        guard underWay.removeValue(forKey: id) != nil else { return }
        cancelled.append(id)
        transferEvents.send(.ended(id: id, .failure(.cancelled)))
    }

    func outlivesProcess() -> Bool { true }

    func events() -> AsyncStream<TransferEvent> {
        let events = transferEvents.stream()
        guard isReadSlowly else { return events }
        let (slow, continuation) = AsyncStream.makeStream(of: TransferEvent.self)
        let reading = Task {
            for await event in events {
                for _ in 0..<10 { await Task.yield() }
                continuation.yield(event)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in reading.cancel() }
        return slow
    }

    func readSlowly() { isReadSlowly = true }

    /// Runs an outbox until so many transfers are under way, and leaves them to the system.
    @discardableResult
    nonisolated func takes(_ count: Int, of outbox: Outbox) async throws -> OutboxReport {
        let run = Task { await outbox.run() }
        try await until { await self.underWay.count == count }
        run.cancel()
        return await run.value
    }

    /// The process has ended: nothing reads any more.
    func relaunch() { _ = transferEvents.stream() }

    /// The system has sent all of it.
    ///
    /// - Parameter isTold: whether the app hears of it.
    func finish(isTold: Bool = true) async {
        for (id, request) in underWay {
            underWay[id] = nil
            let result: Result<HTTPResponse, HTTPTransportError>
            do { result = .success(try await s3.send(request, progress: nil)) } catch { result = .failure(error) }
            if isTold { transferEvents.send(.ended(id: id, result)) }
        }
    }

    /// The system has given up on all of it.
    func fail(_ error: HTTPTransportError) {
        for id in underWay.keys { transferEvents.send(.ended(id: id, .failure(error))) }
        underWay = [:]
    }
}
