import CloakroomCLinux
import CloakroomLoop

/// One connection of a ``ConnectionPool``: writes a request, and has its response read.
@LoopActor
final class PooledConnection {
    private static let interest: EventPoller.Readiness = [.readable, .writable, .hangup, .edge]

    private let socket: Descriptor
    private let address: Int
    private let reader: any ResponseReading
    // The pool holds its connections, and waits for none of them when it goes.
    private weak var pool: ConnectionPool?
    private var watch: EventPoller.Watch?
    private var exchange: Exchange?
    private var written = 0
    /// Whether a byte was ever sent: before that, the server may have refused the connection.
    private var hasSent = false
    /// Whether a byte of this exchange's response has come.
    private var hasReceived = false
    /// How many responses it has had.
    private var responses = 0

    /// - Parameter address: which of the pool's the socket leads to.
    init(_ socket: consuming Descriptor, at address: Int, of pool: ConnectionPool, reader: any ResponseReading) {
        let raw = socket.raw
        self.socket = socket
        self.address = address
        self.pool = pool
        self.reader = reader
        watch = EventPoller.shared.watch(raw, for: Self.interest) { [weak self] readiness in
            self?.handle(readiness)
        }
    }

    isolated deinit { unwatch() }

    func begin(_ exchange: Exchange) {
        self.exchange = exchange
        exchange.connection = self
        written = 0
        hasReceived = false
        reader.reset()
        write()
    }

    /// Whose response is waited for is not told.
    func close() {
        exchange = nil
        unwatch()
        pool?.forget(self)
    }

    private func unwatch() {
        if let watch { EventPoller.shared.unwatch(watch) }
        watch = nil
    }

    private func handle(_ readiness: EventPoller.Readiness) {
        guard watch != nil else { return }
        guard exchange != nil else {
            // A server that ends an idle connection, or says what was not asked for.
            if readiness != .writable { close() }
            return
        }
        if readiness.contains(.writable) { write() }
        if readiness != .writable, exchange != nil { read(untilEnd: !readiness.isDisjoint(with: .hangup)) }
    }

    private func write() {
        guard let exchange else { return }
        while written < exchange.bytes.count {
            let count = Self.send(exchange.bytes, from: written, on: socket.raw)
            guard count > 0 else {
                let code = cloakroom_errno()
                // Not yet connected, or no room: an edge tells when.
                guard ![EAGAIN, EINTR, ENOTCONN].contains(code) else { return }
                // A server may respond before it has the whole request, and close: its response is read first.
                guard written == 0 else { return read(untilEnd: true) }
                return fail(code)
            }
            hasSent = true
            written += count
        }
    }

    /// Without isolation: that of a closure would be checked each time it runs.
    ///
    /// - Returns: as `send(2)`.
    private nonisolated static func send(_ bytes: [UInt8], from start: Int, on socket: Int32) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe cloakroom_send(socket, bytes.baseAddress?.advanced(by: start), bytes.count - start)
        }
    }

    /// - Parameter untilEnd: whether the peer has closed its end: when that came together with bytes, no edge tells of it.
    private func read(untilEnd: Bool) {
        guard let pool else { return close() }
        while exchange != nil {
            let count = pool.receive(from: socket.raw)
            guard count >= 0 else {
                let code = cloakroom_errno()
                guard ![EAGAIN, EINTR].contains(code) else { return }
                return fail(code)
            }
            guard count > 0 else {
                guard hasReceived else { return fail(ECONNRESET) }
                return advance(to: reader.end())
            }
            hasReceived = true
            advance(to: pool.withReceived(count) { reader.read($0) })
            if !untilEnd, count < ConnectionPool.bufferBytes { return }
        }
    }

    private func advance(to progress: ResponseProgress) {
        switch progress {
        case .incomplete: break
        case .complete(let response, let keepsConnection):
            guard let exchange = exchange.take(), let pool else { return close() }
            responses += 1
            // What is left of the request would be read as the next one.
            let isKept = keepsConnection && written == exchange.bytes.count
            if !isKept { close() }
            pool.end(exchange, .success(response), freeing: isKept ? self : nil)
        case .failed(let error):
            guard let exchange = exchange.take(), let pool else { return close() }
            close()
            pool.end(exchange, .failure(error))
        }
    }

    private func fail(_ code: Int32) {
        guard let exchange = exchange.take(), let pool else { return close() }
        close()
        guard responses == 0 || hasReceived else { return pool.repeatOnAnother(exchange) }
        guard !hasSent, [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ETIMEDOUT].contains(code) else {
            return pool.end(exchange, .failure(.interrupted))
        }
        pool.refuse(exchange, SystemError(code: code), at: address)
    }
}
