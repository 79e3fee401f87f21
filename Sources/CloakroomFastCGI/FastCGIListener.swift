import CloakroomCLinux
package import CloakroomHTTP
package import CloakroomLoop

/// Takes connections from nginx and hands every whole request to a handler.
@LoopActor
package final class FastCGIListener {
    /// Takes the response to one request; called once, at once or later.
    package typealias Responder = @LoopActor (Response) -> Void

    package typealias Handler = @LoopActor (Request, @escaping Responder) -> Void

    package struct Limits: Sendable {
        /// The largest body; nginx's `client_max_body_size`.
        package var bodyBytes: Int
        /// All incomplete requests and unread responses together.
        package var bufferedBytes = 64 << 20
        package var connections = 16_384
        /// From accept, or from the first byte of a request, until it is whole; and for an unread response.
        package var requestTimeout: Duration = .seconds(10)

        package init(bodyBytes: Int) { self.bodyBytes = bodyBytes }
    }

    let limits: Limits
    let fields: FieldTable
    let tooLarge: Response
    let receiveBuffer = ReceiveBuffer()
    let parser: LibFCGIParser
    private var spareBuffer: [UInt8] = []
    private let handler: Handler
    private var socket: Descriptor?
    private var watch: EventPoller.Watch?
    private var connections: [ObjectIdentifier: FastCGIConnection] = [:]
    private var answering = 0
    /// Whether a timer looks at the connections' deadlines: without one the worker is not woken for them.
    package private(set) var watchesDeadlines = false
    private var drained: CheckedContinuation<Void, Never>?

    package private(set) var isDraining = false

    /// - Parameters:
    ///   - socket: a listening socket; owned from here on.
    ///   - tooLarge: the response to a body over the limit.
    package init(
        socket: Int32, limits: Limits, fields: FieldTable, tooLarge: Response, handler: @escaping Handler
    ) throws(FastCGIError) {
        parser = try SelfTest.parser()
        self.socket = Descriptor(owning: socket)
        self.limits = limits
        self.fields = fields
        self.tooLarge = tooLarge
        self.handler = handler
        watchListener()
    }

    package var connectionCount: Int { connections.count }

    /// Requests that a handler works on.
    package var inFlight: Int { answering }

    /// Takes what waits in the backlog, stops listening, and returns when every accepted request has its response.
    package func drain() async {
        guard !isDraining else { return }
        accept()
        isDraining = true
        stopListening()
        for connection in connections.values { connection.read() }
        for connection in connections.values where connection.isIdle { connection.close() }
        guard !connections.isEmpty else { return }
        await withCheckedContinuation { drained = $0 }
    }

    // MARK: For connections

    var gateLimits: Gate.Limits { Gate.Limits(bodyBytes: limits.bodyBytes) }

    /// The deadline of what begins now; it is looked at from here on.
    func startDeadline() -> UInt64 {
        if !watchesDeadlines { scheduleSweep() }
        return Monotonic.now &+ limits.requestTimeout.nanoseconds
    }

    /// Whether one more incomplete request still fits into what all may take together.
    func mayBuffer() -> Bool {
        // Summed only when something is incomplete, which behind nginx is rare.
        connections.values.reduce(0) { $0 + $1.bufferedBytes } <= limits.bufferedBytes
    }

    /// An empty buffer to write a response into; one serves all that are sent at once.
    func takeBuffer() -> [UInt8] {
        let buffer = spareBuffer
        spareBuffer = []
        return buffer
    }

    /// Takes it back for the next response; after a large one it is given up.
    func giveBack(_ buffer: consuming [UInt8]) {
        guard buffer.capacity <= 1 << 18 else { return }
        buffer.removeAll(keepingCapacity: true)
        spareBuffer = buffer
    }

    func begin(_ request: Request, on connection: FastCGIConnection) {
        answering += 1
        handler(request) { [self] response in
            answering -= 1
            connection.respond(response)
        }
    }

    func forget(_ connection: FastCGIConnection) {
        connections[ObjectIdentifier(connection)] = nil
        guard isDraining, connections.isEmpty else { return }
        drained?.resume()
        drained = nil
    }

    // MARK: Accepting

    /// Takes all that wait. Of a crowd only the first are read at once: while their requests begin, the backlog would fill up.
    private func accept() {
        guard let listening = socket?.raw else { return }
        var readsLeft = 16
        while true {
            let accepted = cloakroom_accept(listening)
            guard accepted >= 0 else { return pauseIfExhausted(cloakroom_errno()) }
            guard connections.count < limits.connections else {
                close(accepted)
                continue
            }
            let connection = FastCGIConnection(socket: accepted, listener: self)
            connections[ObjectIdentifier(connection)] = connection
            // Of the others an event tells in the next turn.
            if readsLeft > 0 { connection.read() }
            readsLeft -= 1
        }
    }

    /// Without free descriptors the backlog stays readable: looking away for a moment keeps the loop from spinning.
    private func pauseIfExhausted(_ code: Int32) {
        guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code), let watch else { return }
        EventPoller.shared.unwatch(watch)
        self.watch = nil
        EventPoller.shared.schedule(after: .milliseconds(100)) { [weak self] in
            guard let self, !isDraining else { return }
            watchListener()
        }
    }

    /// Urgent: connections wait in a backlog of a fixed size, and more than that are turned away.
    private func watchListener() {
        guard let listening = socket?.raw else { return }
        watch = EventPoller.shared.watch(listening, for: .readable, isUrgent: true) { [weak self] _ in self?.accept() }
    }

    private func stopListening() {
        if let watch { EventPoller.shared.unwatch(watch) }
        watch = nil
        socket = nil
    }

    /// One timer for all connections, as long as one of them has a deadline, which may be late by the timer's period.
    private func scheduleSweep() {
        watchesDeadlines = true
        EventPoller.shared.schedule(after: .seconds(1)) { [weak self] in self?.sweep() }
    }

    private func sweep() {
        let now = Monotonic.now
        watchesDeadlines = false
        for connection in connections.values {
            guard let deadline = connection.deadline else { continue }
            if deadline <= now {
                // After a pause of the process, or in a crowd, what has come may not have been read yet.
                connection.read()
                if let deadline = connection.deadline, deadline <= now { connection.close() }
            }
            if connection.deadline != nil, !watchesDeadlines { scheduleSweep() }
        }
    }
}

package enum FastCGIError: Error, Equatable, CustomStringConvertible {
    /// libfcgi does not read what it is given: `serve` must not start.
    case unusableLibrary

    package var description: String {
        switch self {
        case .unusableLibrary:
            "libfcgi reads neither through the worker's OS_Read nor from a file in memory (memfd_create); "
                + "install the one of your distribution, or allow that system call"
        }
    }
}
