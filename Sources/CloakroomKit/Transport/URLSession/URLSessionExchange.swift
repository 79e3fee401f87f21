import CloakroomAWS
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request in flight: URLSession's calls for it, and its result, which is set once.
final class URLSessionExchange: @unchecked Sendable {
    // URLSession calls from its queue; cancellation and the end of time come from any thread. All that changes is under `lock`,
    // and so is every write to the destination: after the end nothing is written any more.
    private let lock = NSLock()
    private var waiter: Waiter?
    private var result: Result<HTTPResponse, HTTPTransportError>?
    private var task: URLSessionTask?
    private var accumulator: ResponseAccumulator
    private var moved = HTTPProgress()
    private var lastMove: ContinuousClock.Instant

    private let request: URLRequest
    let body: RequestBodyReader
    private let timeout: Duration
    private let idleTimeout: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let started: ContinuousClock.Instant
    private let progress: (@Sendable (HTTPProgress) -> Void)?

    typealias Waiter = CheckedContinuation<Result<HTTPResponse, HTTPTransportError>, Never>

    /// Opens the files of a request.
    init(
        _ request: HTTPRequest, now: @escaping @Sendable () -> ContinuousClock.Instant,
        progress: (@Sendable (HTTPProgress) -> Void)?
    ) throws(HTTPTransportError) {
        self.request = try URLRequest(request)
        body = try RequestBodyReader(request.body)
        accumulator = try ResponseAccumulator(request.destination, isHead: request.method == "HEAD")
        timeout = request.timeout
        idleTimeout = request.idleTimeout
        self.now = now
        started = now()
        lastMove = started
        self.progress = progress
    }

    /// Starts it, unless it has ended before.
    func start(on session: URLSession, _ delegate: URLSessionExchangeDelegate, waiter: Waiter) {
        let early = lock.withLock {
            if result == nil { self.waiter = waiter }
            return result
        }
        if let early { return waiter.resume(returning: early) }
        let task = body.makeTask(for: request, on: session)
        delegate.add(self, for: task)
        let hasEnded = lock.withLock {
            self.task = task
            return result != nil
        }
        if hasEnded { task.cancel() } else { task.resume() }
    }

    /// Ends it; later calls are ignored.
    func end(_ result: Result<HTTPResponse, HTTPTransportError>) {
        let (waiter, task) = lock.withLock { () -> (Waiter?, URLSessionTask?) in
            guard self.result == nil else { return (nil, nil) }
            self.result = result
            defer { self.waiter = nil }
            return (self.waiter, self.task)
        }
        waiter?.resume(returning: result)
        // `cancel` waits for the session's queue, on which this may be.
        if case .failure = result, let task { DispatchQueue.global().async { task.cancel() } }
    }

    /// Ends it when its time is up; returns when the calling task is cancelled.
    func enforceTimeouts(_ runtime: RuntimeDependencies) async {
        while true {
            let lastMove = lock.withLock { self.lastMove }
            let left = now().duration(to: min(started + timeout, lastMove + idleTimeout))
            guard left > .zero else { return end(.failure(.timedOut)) }
            guard (try? await runtime.sleep(left)) != nil else { return }
        }
    }
}

// URLSession's delegate calls, in their order.
extension URLSessionExchange {
    /// - Parameter bytesSent: of the body in all; more than there are when it had to be sent again.
    func didSend(_ bytesSent: Int64) {
        reportProgress { $0.bytesSent = min(bytesSent, body.byteCount) }
    }

    func didReceive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        let problem = lock.withLock {
            lastMove = now()
            return accumulator.begin(HTTPResponseHead(response))
        }
        if let problem { end(.failure(problem)) }
    }

    func didReceive(_ data: Data) {
        let problem = lock.withLock { () -> HTTPTransportError? in
            guard result == nil else { return nil }
            return data.withUnsafeBytes { accumulator.append($0) }
        }
        if let problem { return end(.failure(problem)) }
        reportProgress { $0.bytesReceived += Int64(data.count) }
    }

    /// - Parameter response: the task's own, for responses without a delegate call: on Linux a redirect without `Location`.
    func didComplete(_ response: URLResponse?, _ error: (any Error)?) {
        if body.hasFailed { return end(.failure(.unreadableFile)) }
        if let error { return end(.failure(HTTPTransportError(error))) }
        end(lock.withLock { accumulator.finish((response as? HTTPURLResponse).map { HTTPResponseHead($0) }) })
    }

    private func reportProgress(_ change: (inout HTTPProgress) -> Void) {
        let moved = lock.withLock { () -> HTTPProgress? in
            lastMove = now()
            guard result == nil else { return nil }
            change(&self.moved)
            return self.moved
        }
        if let moved { progress?(moved) }
    }
}
