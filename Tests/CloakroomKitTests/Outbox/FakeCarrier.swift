import Foundation

@testable import CloakroomKit

/// A carrier whose transfers outlive the process, and end as a test says.
actor FakeCarrier: TransferCarrier {
    private(set) var underWay: [String: HTTPRequest] = [:]
    private(set) var started: [HTTPRequest] = []
    private(set) var cancelled: [String] = []
    private let transferEvents = TransferEvents()
    private let s3: FakeS3

    init(_ s3: FakeS3) { self.s3 = s3 }

    func start(_ request: HTTPRequest, id: String) {
        underWay[id] = request
        started.append(request)
    }

    func transfersUnderWay() -> Set<String> { Set(underWay.keys) }

    func cancel(id: String) {
        guard underWay.removeValue(forKey: id) != nil else { return }
        cancelled.append(id)
        transferEvents.send(.ended(id: id, .failure(.cancelled)))
    }

    func outlivesProcess() -> Bool { true }

    func events() -> AsyncStream<TransferEvent> { transferEvents.stream() }

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
