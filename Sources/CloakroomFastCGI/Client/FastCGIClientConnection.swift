import CloakroomCLinux
import CloakroomHTTP
import CloakroomLoop

/// One connection to a worker: writes a request, and reads its response.
@LoopActor
final class FastCGIClientConnection {
    private static let interest: EventPoller.Readiness = [.readable, .writable, .hangup, .edge]

    private let socket: Descriptor
    // The client holds its connections, and waits for none of them when it goes.
    private weak var client: FastCGIClient?
    private var watch: EventPoller.Watch?
    private var exchange: FastCGIExchange?
    private var written = 0
    private var reader = ResponseReader(maximumBytes: FastCGIClient.maximumResponseBytes)
    /// Whether a byte of this exchange's response has come.
    private var hasReceived = false
    /// How many responses it has had.
    private var responses = 0

    init(_ client: FastCGIClient) throws(SystemError) {
        var code: Int32 = 0
        let raw =
            switch client.address {
            case .unix(let path): unsafe cloakroom_connect_unix(path, &code)
            case .internet(let host, let port): unsafe cloakroom_connect_internet(host, port, &code)
            }
        guard raw >= 0 else { throw SystemError(code: code) }
        let socket = Descriptor(owning: raw)
        guard code == 0 || code == EINPROGRESS else { throw SystemError(code: code) }
        self.socket = socket
        self.client = client
        watch = EventPoller.shared.watch(raw, for: Self.interest) { [weak self] readiness in
            self?.handle(readiness)
        }
    }

    isolated deinit { unwatch() }

    func begin(_ exchange: FastCGIExchange) {
        self.exchange = exchange
        exchange.connection = self
        written = 0
        hasReceived = false
        reader = ResponseReader(maximumBytes: FastCGIClient.maximumResponseBytes)
        write()
    }

    /// Whose response is waited for is not told.
    func close() {
        exchange = nil
        unwatch()
        client?.forget(self)
    }

    private func unwatch() {
        if let watch { EventPoller.shared.unwatch(watch) }
        watch = nil
    }

    private func handle(_ readiness: EventPoller.Readiness) {
        guard watch != nil else { return }
        guard exchange != nil else {
            // A worker that ends an idle connection, or says what was not asked for.
            if readiness != .writable { close() }
            return
        }
        if readiness.contains(.writable) { write() }
        if readiness != .writable, exchange != nil { read(untilEnd: !readiness.isDisjoint(with: .hangup)) }
    }

    private func write() {
        guard let exchange else { return }
        while written < exchange.bytes.count {
            let count = unsafe exchange.bytes.withUnsafeBytes { bytes in
                unsafe cloakroom_send(
                    socket.raw, bytes.baseAddress?.advanced(by: written), bytes.count - written)
            }
            guard count > 0 else {
                let code = cloakroom_errno()
                // Not yet connected, or no room: an edge tells when.
                guard ![EAGAIN, EINTR, ENOTCONN].contains(code) else { return }
                return fail(code)
            }
            written += count
        }
    }

    /// - Parameter untilEnd: whether the peer has closed its end: when that came together with bytes, no edge tells of it.
    private func read(untilEnd: Bool) {
        guard let client else { return close() }
        while exchange != nil {
            let count = client.receiveBuffer.receive(from: socket.raw)
            guard count > 0 else {
                let code = count == 0 ? ECONNRESET : cloakroom_errno()
                guard count == 0 || ![EAGAIN, EINTR].contains(code) else { return }
                return fail(code)
            }
            hasReceived = true
            switch client.receiveBuffer.withSpan(count, { reader.read($0) }) {
            case .incomplete: if !untilEnd, count < client.receiveBuffer.capacity { return }
            case .complete(let response): end(.success(response))
            case .malformed: end(.failure(.malformed))
            case .tooLarge: end(.failure(.tooLarge))
            }
        }
    }

    private func end(_ result: Result<UpstreamResponse, FastCGIClientError>) {
        guard let exchange = exchange.take(), let client else { return close() }
        responses += 1
        guard case .success = result else {
            close()
            return client.end(exchange, result)
        }
        client.end(exchange, result, freeing: self)
    }

    private func fail(_ code: Int32) {
        guard let exchange = exchange.take(), let client else { return close() }
        close()
        guard responses == 0 || hasReceived else { return client.repeatOnAnother(exchange) }
        let isRefused = [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT].contains(code)
        client.end(exchange, .failure(isRefused ? .unreachable(SystemError(code: code)) : .interrupted))
    }
}
