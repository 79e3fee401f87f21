import CloakroomCLinux
import CloakroomHTTP
import CloakroomLoop

/// One connection of nginx: reads requests through the gate, one at a time, and writes their responses.
@LoopActor
final class FastCGIConnection {
    private enum State {
        /// No byte of the next request has come.
        case idle
        /// Part of a request is in `buffer`.
        case reading
        /// A handler works on a request.
        case answering
        /// Something was refused: whatever still comes is discarded until the peer closes.
        case discarding
        case closed
    }

    private static let interest: EventPoller.Readiness = [.readable, .hangup, .edge]

    private let socket: Descriptor
    // Each holds the other until the connection is closed.
    private let listener: FastCGIListener
    private var watch: EventPoller.Watch?
    private var state = State.idle
    // These three are read and set but never changed in place: an access that lasts would have to be watched for others
    // at the same time (SE-0176), and with it every short one.
    private var gate: Gate
    private var buffer: [UInt8] = []
    private var output: [UInt8] = []
    private var written = 0
    private var hasResponded = false
    private var hasSentValues = false
    private var closesAfterResponse = false
    private var mayHaveMore = false
    /// The peer sends no more; when its end has come together with bytes, no further edge tells of it.
    private var peerHasEnded = false
    private var waitsToWrite = false
    private var isGoingOn = false

    /// When the sweep may close it, in ``Monotonic`` nanoseconds; `nil` while idle on a kept connection or answering.
    private(set) var deadline: UInt64?

    init(socket: Int32, listener: FastCGIListener) {
        self.socket = Descriptor(owning: socket)
        self.listener = listener
        gate = Gate(limits: listener.gateLimits)
        deadline = listener.startDeadline()
        watch = EventPoller.shared.watch(socket, for: Self.interest) { [self] readiness in
            handle(readiness)
        }
    }

    /// Whether nothing is lost when it is closed now.
    var isIdle: Bool { state == .idle && hasResponded && output.isEmpty }

    var bufferedBytes: Int { buffer.count + output.count - written }

    // MARK: Events

    private func handle(_ readiness: EventPoller.Readiness) {
        if readiness.contains(.writable) { flush() }
        if !readiness.isDisjoint(with: .hangup) {
            peerHasEnded = true
            mayHaveMore = true
        }
        if state == .answering {
            // The next request, or a client that gave up: nginx closes then. The response is finished either way.
            mayHaveMore = true
            return
        }
        if state != .closed { read() }
    }

    /// Reads until the socket is empty, a handler has work, or the peer has a response to read first.
    func read() {
        while state == .idle || state == .reading || state == .discarding {
            // A response sent at once leaves the request behind it, and perhaps a peer that has to read it.
            let isAhead = state == .idle && !buffer.isEmpty
            guard !isAhead, output.isEmpty || state == .discarding else {
                mayHaveMore = true
                return goOn()
            }
            let count = listener.receiveBuffer.receive(from: socket.raw)
            guard count > 0 else {
                if count < 0, cloakroom_errno() == EAGAIN || cloakroom_errno() == EINTR { return }
                return close()
            }
            if state != .discarding { take(count) }
            // A short read has emptied the socket: the next edge tells of more.
            if count < listener.receiveBuffer.capacity, !peerHasEnded { return }
        }
    }

    private func take(_ count: Int) {
        if buffer.isEmpty {
            let verdict = listener.receiveBuffer.withSpan(count) { walk($0) }
            if case .complete(let end) = verdict {
                if end < count { buffer = listener.receiveBuffer.bytes(end..<count) }
                return unsafe begin(listener.receiveBuffer.raw(0..<end))
            }
            buffer = listener.receiveBuffer.bytes(0..<count)
            return act(on: verdict)
        }
        var longer = buffer
        buffer = []
        listener.receiveBuffer.append(count, to: &longer)
        buffer = longer
        act(on: walk(longer.span))
    }

    private func walk(_ bytes: Span<UInt8>) -> Gate.Verdict {
        var gate = gate
        defer { self.gate = gate }
        return gate.walk(bytes)
    }

    private func act(on verdict: Gate.Verdict) {
        switch verdict {
        case .incomplete:
            if state == .idle {
                state = .reading
                deadline = listener.startDeadline()
            }
            if !listener.mayBuffer() { close() }
        case .complete(let end):
            let whole = buffer
            buffer = end == whole.count ? [] : Array(whole[end...])
            unsafe whole.withUnsafeBytes { unsafe begin(UnsafeRawBufferPointer(rebasing: $0[..<end])) }
        case .values(let end):
            // Once before a request is enough; more would cost time and memory that others need.
            guard !hasSentValues else { return close() }
            hasSentValues = true
            buffer = Array(buffer[end...])
            send(ResponseEncoder.values(connections: listener.limits.connections))
            if state != .closed { awaitNext() }
        case .tooLarge(let requestID):
            buffer = []
            state = .discarding
            deadline = listener.startDeadline()
            send(ResponseEncoder.records(of: listener.tooLarge, to: requestID))
            if output.isEmpty { shutdown(socket.raw, Int32(SHUT_WR)) }
        case .malformed:
            close()
        }
    }

    private func awaitNext() {
        gate = Gate(limits: listener.gateLimits)
        state = .idle
        deadline = output.isEmpty ? nil : listener.startDeadline()
        goOn()
    }

    /// Takes up what came while something else had to be done first, one request after the other.
    private func goOn() {
        // A response sent at once returns here: the outer call goes on, so that no pipeline runs the stack out.
        guard !isGoingOn else { return }
        isGoingOn = true
        defer { isGoingOn = false }
        while output.isEmpty {
            if state == .idle, !buffer.isEmpty {
                let bytes = buffer
                act(on: walk(bytes.span))
            } else if mayHaveMore, state == .idle || state == .reading {
                mayHaveMore = false
                read()
            } else {
                return
            }
        }
    }

    // MARK: One exchange

    private func begin(_ bytes: UnsafeRawBufferPointer) {
        state = .answering
        deadline = nil
        closesAfterResponse = !gate.keepsConnection
        let bodyBytes = gate.bodyBytes
        guard let request = unsafe listener.parser.parse(bytes, bodyBytes: bodyBytes, fields: listener.fields) else {
            return close()
        }
        listener.begin(request, on: self)
    }

    /// Called once for each request, when its handler has responded.
    func respond(_ response: Response) {
        guard state == .answering else { return }
        hasResponded = true
        hasSentValues = false
        if listener.isDraining { closesAfterResponse = true }
        var records = listener.takeBuffer()
        ResponseEncoder.append(response, to: gate.requestID, in: &records)
        send(records)
        listener.giveBack(consume records)
        guard state != .closed else { return }
        if closesAfterResponse {
            if output.isEmpty { close() }
            return
        }
        awaitNext()
    }

    // MARK: Writing

    /// Sends at once what the socket takes and keeps the rest.
    private func send(_ bytes: [UInt8]) {
        guard state != .closed else { return }
        guard output.isEmpty else {
            output = output + bytes
            return
        }
        let count = unsafe cloakroom_send(socket.raw, bytes, bytes.count)
        if count == bytes.count { return }
        if count < 0, cloakroom_errno() != EAGAIN, cloakroom_errno() != EINTR { return close() }
        output = Array(bytes[max(0, count)...])
        deadline = listener.startDeadline()
        waitToWrite(true)
    }

    /// Goes on with the rest when the socket takes more.
    private func flush() {
        guard state != .closed, !output.isEmpty else { return }
        let (rest, written) = (output, written)
        let count = unsafe rest.withUnsafeBytes { bytes in
            unsafe cloakroom_send(socket.raw, bytes.baseAddress! + written, bytes.count - written)
        }
        if count < 0 {
            guard cloakroom_errno() == EAGAIN || cloakroom_errno() == EINTR else { return close() }
            return
        }
        self.written = written + count
        deadline = listener.startDeadline()
        guard self.written == rest.count else { return }
        output = []
        self.written = 0
        waitToWrite(false)
        hasWritten()
    }

    private func hasWritten() {
        switch state {
        case .discarding: shutdown(socket.raw, Int32(SHUT_WR))
        case .answering where closesAfterResponse: close()
        case .idle where listener.isDraining && hasResponded: close()
        case .answering: deadline = nil
        case .idle:
            deadline = nil
            goOn()
        case .reading, .closed: break
        }
    }

    private func waitToWrite(_ waits: Bool) {
        guard waits != waitsToWrite, let watch else { return }
        waitsToWrite = waits
        EventPoller.shared.rewatch(watch, for: waits ? Self.interest.union(.writable) : Self.interest)
    }

    func close() {
        guard state != .closed else { return }
        state = .closed
        if let watch { EventPoller.shared.unwatch(watch) }
        watch = nil
        listener.forget(self)
    }
}
