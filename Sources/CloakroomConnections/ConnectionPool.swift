import CloakroomCLinux
package import CloakroomHTTP
package import CloakroomLoop

/// Sends requests to one server on connections that are kept, each with one request at a time.
@LoopActor
@safe package final class ConnectionPool {
    package typealias Completion = ExchangeClient.Completion

    private let addresses: [ServerAddress]
    package let maximumConnections: Int
    private let makeReader: () -> any ResponseReading
    private var connections: [ObjectIdentifier: PooledConnection] = [:]
    private var idle: [PooledConnection] = []
    private var waiting: [Exchange] = []
    /// Of those in ``waiting`` that have been served.
    private var served = 0
    private var isStartingWaiting = false
    /// Which address took a connection last.
    private var preferredAddress = 0
    /// All connections receive into it, one after the other.
    private let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: ConnectionPool.bufferBytes)
    static let bufferBytes = 1 << 16

    /// - Parameters:
    ///   - addresses: of the one server; the next is tried when one refuses the connection.
    ///   - maximumConnections: requests beyond so many wait for one that ends.
    ///   - makeReader: of a new connection.
    package init(
        _ addresses: [ServerAddress], maximumConnections: Int, makeReader: @escaping () -> any ResponseReading
    ) {
        precondition(!addresses.isEmpty, "a server without an address")
        self.addresses = addresses
        self.maximumConnections = maximumConnections
        self.makeReader = makeReader
    }

    isolated deinit {
        for connection in connections.values { connection.close() }
        unsafe buffer.deallocate()
    }

    /// - Parameters:
    ///   - bytes: of the request.
    ///   - timeout: for the whole exchange, with the wait for a connection.
    ///   - completion: runs once.
    package func send(_ bytes: [UInt8], timeout: Duration, then completion: @escaping Completion) {
        begin(Exchange(bytes), timeout: timeout, then: completion)
    }

    package func send(_ bytes: [UInt8], timeout: Duration) async throws(ExchangeError) -> UpstreamResponse {
        let exchange = Exchange(bytes)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(exchange, timeout: timeout) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            LoopActor.spawn { self.abandon(exchange, .interrupted) }
        }
        return try result.get()
    }

    private func begin(_ exchange: Exchange, timeout: Duration, then completion: @escaping Completion) {
        exchange.completion = completion
        exchange.timer = EventPoller.shared.schedule(after: timeout) { [weak self] in
            self?.abandon(exchange, .timeout)
        }
        start(exchange)
    }

    private func abandon(_ exchange: Exchange, _ error: ExchangeError) {
        guard !exchange.isComplete else { return }
        exchange.connection?.close()
        end(exchange, .failure(error))
    }

    // MARK: For the connections

    /// - Parameter connection: that of the exchange, if it can take another.
    func end(
        _ exchange: Exchange, _ result: Result<UpstreamResponse, ExchangeError>,
        freeing connection: PooledConnection? = nil
    ) {
        if let timer = exchange.timer { EventPoller.shared.cancel(timer) }
        exchange.connection = nil
        if let connection { idle.append(connection) }
        startWaiting()
        exchange.complete(result)
    }

    /// The connection that the exchange was to reuse had been closed by the server: nothing of the request was handled.
    func repeatOnAnother(_ exchange: Exchange) {
        exchange.connection = nil
        start(exchange)
    }

    /// The server takes no connection at this address.
    func refuse(_ exchange: Exchange, _ error: SystemError, at address: Int) {
        exchange.connection = nil
        exchange.firstAddress = address + 1
        // The last one that refuses may leave the first as the one to begin with.
        preferredAddress = (address + 1) % addresses.count
        guard exchange.firstAddress < addresses.count else { return end(exchange, .failure(.unreachable(error))) }
        start(exchange)
    }

    func forget(_ connection: PooledConnection) {
        connections[ObjectIdentifier(connection)] = nil
        idle.removeAll { $0 === connection }
    }

    /// - Returns: as `recv(2)`: how many bytes came, 0 at the end, negative with `errno` set.
    func receive(from socket: Int32) -> Int { unsafe cloakroom_receive(socket, buffer.baseAddress, buffer.count) }

    /// What ``receive(from:)`` received last.
    func withReceived<T>(_ count: Int, _ body: (Span<UInt8>) -> T) -> T {
        body(unsafe UnsafeBufferPointer(rebasing: buffer[..<count]).span)
    }

    // MARK: Connections

    private func start(_ exchange: Exchange) {
        if let connection = idle.popLast() { return connection.begin(exchange) }
        guard connections.count < maximumConnections else { return waiting.append(exchange) }
        let address = max(preferredAddress, exchange.firstAddress)
        do throws(SystemError) {
            let connection = PooledConnection(
                try addresses[address].connect(), at: address, of: self, reader: makeReader())
            connections[ObjectIdentifier(connection)] = connection
            connection.begin(exchange)
        } catch {
            refuse(exchange, error, at: address)
        }
    }

    private func startWaiting() {
        // One that fails at once ends within this loop, and calls it again: as often as requests wait.
        guard !isStartingWaiting else { return }
        isStartingWaiting = true
        defer { isStartingWaiting = false }
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
