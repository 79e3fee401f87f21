package import CloakroomHTTP
package import CloakroomLoop
import CloakroomCLinux

/// Why a worker gave no response.
package enum FastCGIClientError: Error, Sendable, Equatable {
    /// With the system's word for it.
    case unreachable(SystemError)
    case timeout
    /// The connection ended before the response was whole.
    case interrupted
    /// What came is no response of FastCGI.
    case malformed
    case tooLarge
}

/// Sends requests straight to a worker, as nginx does: on connections that are kept, each with one request at a time.
@LoopActor
package final class FastCGIClient {
    package typealias Completion = @LoopActor (Result<UpstreamResponse, FastCGIClientError>) -> Void

    let address: ListenAddress
    let receiveBuffer = ReceiveBuffer()
    private let maximumConnections: Int
    private var connections: [ObjectIdentifier: FastCGIClientConnection] = [:]
    private var idle: [FastCGIClientConnection] = []
    private var waiting: [FastCGIExchange] = []
    /// Of those in ``waiting`` that have been served.
    private var served = 0
    static let maximumResponseBytes = 1 << 20

    /// - Parameter maximumConnections: requests beyond so many wait for one that ends.
    package init(_ address: ListenAddress, maximumConnections: Int = 1) {
        self.address = address
        self.maximumConnections = maximumConnections
    }

    isolated deinit { for connection in connections.values { connection.close() } }

    /// - Parameter timeout: for the whole exchange, with the wait for a connection.
    package func send(_ request: UpstreamRequest, timeout: Duration, then completion: @escaping Completion) {
        begin(FastCGIExchange(RequestEncoder.bytes(request, keepsConnection: true)), timeout: timeout, then: completion)
    }

    package func send(
        _ request: UpstreamRequest, timeout: Duration
    ) async throws(FastCGIClientError) -> UpstreamResponse {
        let exchange = FastCGIExchange(RequestEncoder.bytes(request, keepsConnection: true))
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(exchange, timeout: timeout) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            LoopActor.spawn { self.abandon(exchange, .interrupted) }
        }
        return try result.get()
    }

    private func begin(_ exchange: FastCGIExchange, timeout: Duration, then completion: @escaping Completion) {
        exchange.completion = completion
        exchange.timer = EventPoller.shared.schedule(after: timeout) { [weak self] in
            self?.abandon(exchange, .timeout)
        }
        start(exchange)
    }

    private func abandon(_ exchange: FastCGIExchange, _ error: FastCGIClientError) {
        guard !exchange.isComplete else { return }
        exchange.connection?.close()
        end(exchange, .failure(error))
    }

    // MARK: For the connections

    /// - Parameter connection: that of the exchange, if it can take another.
    func end(
        _ exchange: FastCGIExchange, _ result: Result<UpstreamResponse, FastCGIClientError>,
        freeing connection: FastCGIClientConnection? = nil
    ) {
        if let timer = exchange.timer { EventPoller.shared.cancel(timer) }
        exchange.connection = nil
        if let connection { idle.append(connection) }
        startWaiting()
        exchange.complete(result)
    }

    /// The connection that the exchange was to reuse had been closed by the worker: nothing of the request was handled.
    func repeatOnAnother(_ exchange: FastCGIExchange) {
        exchange.connection = nil
        start(exchange)
    }

    func forget(_ connection: FastCGIClientConnection) {
        connections[ObjectIdentifier(connection)] = nil
        idle.removeAll { $0 === connection }
    }

    // MARK: Connections

    private func start(_ exchange: FastCGIExchange) {
        if let connection = idle.popLast() { return connection.begin(exchange) }
        guard connections.count < maximumConnections else { return waiting.append(exchange) }
        do throws(SystemError) {
            let connection = try FastCGIClientConnection(self)
            connections[ObjectIdentifier(connection)] = connection
            connection.begin(exchange)
        } catch {
            end(exchange, .failure(.unreachable(error)))
        }
    }

    private func startWaiting() {
        while served < waiting.count, !idle.isEmpty || connections.count < maximumConnections {
            let exchange = waiting[served]
            served += 1
            if !exchange.isComplete { start(exchange) }
        }
        if served > 1024 || served == waiting.count {
            waiting.removeFirst(served)
            served = 0
        }
    }
}

/// One request on its way, and who is told of its response.
@LoopActor
final class FastCGIExchange {
    let bytes: [UInt8]
    var timer: TimerID?
    weak var connection: FastCGIClientConnection?
    var completion: FastCGIClient.Completion?

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isComplete: Bool { completion == nil }

    func complete(_ result: Result<UpstreamResponse, FastCGIClientError>) { completion.take()?(result) }
}
