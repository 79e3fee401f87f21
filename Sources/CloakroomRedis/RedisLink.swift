import CloakroomCLinux
import CloakroomLoop

/// What a server publishes on a channel.
struct RedisMessage: Sendable, Equatable {
    let channel: String
    let text: String

    /// - Returns: `nil` for the reply to a command.
    init?(_ reply: RedisReply) {
        guard case .array(let parts) = reply, parts.count == 3, parts[0] == .text(Array("message".utf8)),
            case .text(let channel) = parts[1], case .text(let text) = parts[2]
        else { return nil }
        self.channel = String(decoding: channel, as: UTF8.self)
        self.text = String(decoding: text, as: UTF8.self)
    }
}

/// One socket to Redis: connects by itself and again after a loss, at once after the first. All requests of a turn of
/// the loop go out in one write, and the replies come back in order.
@LoopActor
final class RedisLink {
    private enum State {
        case connecting
        case ready
        /// Waiting for the next attempt.
        case disconnected
        case closed
    }

    /// What a link had on its way when it was lost.
    struct Loss {
        let error: RedisError
        /// Why requests are refused until there is a link again.
        let reason: RedisError
        /// Whether requests had been let in.
        let wasReady: Bool
        let pending: [PendingRedisRequest]
        /// Of these the last ones, of which not a byte was sent.
        let unsentCount: Int
        /// Since the last reply, in nanoseconds.
        let silence: UInt64
    }

    /// Commands that were sent and have no reply yet.
    private struct Outgoing {
        var output: [UInt8] = []
        var written = 0
        var pending = RingBuffer<PendingRedisRequest>()
        /// Of the pending requests the last ones, of which not a byte was sent.
        var unsentCount = 0

        /// - Returns: how many are on the way now; `nil` if no more may be.
        mutating func append(_ request: PendingRedisRequest, limit: Int) -> Int? {
            guard pending.count < limit else { return nil }
            output.append(contentsOf: request.batch.bytes)
            pending.append(request)
            unsentCount += 1
            return pending.count
        }

        /// Forgets what is written; as many bytes will come again.
        mutating func clear() {
            output.removeAll(keepingCapacity: output.capacity <= 1 << 16)
            written = 0
        }

        mutating func takePending() -> [PendingRedisRequest] {
            var all: [PendingRedisRequest] = []
            while let request = pending.popFirst() { all.append(request) }
            unsentCount = 0
            return all
        }
    }

    private let options: RedisConnection.Options
    private weak var owner: RedisConnection?
    private var state = State.disconnected
    /// Whether requests may wait for the attempt that is made now: it is the first, or the first after a loss.
    private(set) var isAwaited = true
    private var socket: RedisSocket?
    private var watch: EventPoller.Watch?
    private var reader = RedisReplyParser()
    private var outgoing = Outgoing()
    /// Why commands are to go to another server from now on, until the link is given up for it.
    private var reconnectReason: RedisError?
    /// When the last reply came, or the first command after a pause went out: a late turn of ours is not Redis' fault.
    private var lastProgress: UInt64 = 0
    private var readySince: UInt64 = 0
    private var hasReplied = false
    private var isFlushScheduled = false
    private var isWatchScheduled = false
    private var attempt = 0
    private var addresses = AddressRotation()
    private var pendingHandshakeReplies = 0
    private let isSubscriber: Bool

    init(options: RedisConnection.Options, owner: RedisConnection) {
        self.options = options
        self.owner = owner
        isSubscriber = !options.channels.isEmpty
    }

    /// Whether commands get replies.
    var isReady: Bool { state == .ready }

    /// Requests without a reply yet.
    var pendingCount: Int { outgoing.pending.count }

    /// No request waits for this link any longer.
    func stopWaiting() { isAwaited = false }

    /// How many of the requests on their way are the last ones, of which not a byte was sent.
    var unsentCount: Int { outgoing.unsentCount }

    /// Since the last reply, or since there was something to wait for, in nanoseconds.
    var silence: UInt64 {
        let now = Monotonic.now
        return now &- min(now, lastProgress)
    }

    /// - Returns: what was on its way.
    func close() -> [PendingRedisRequest] {
        state = .closed
        isAwaited = false
        return drop()
    }

    // MARK: Connecting

    func connect() {
        guard state == .disconnected else { return }
        state = .connecting
        hasReplied = false
        addresses.begin()
        attempt += 1
        let number = attempt
        limitAttempt(number, to: max(options.timeout, .milliseconds(250)) * 2)
        switch options.address {
        case .unix(let path):
            var code: Int32 = 0
            open(unsafe cloakroom_connect_unix(path, &code), code, host: "localhost")
        case .internet(let host, let port):
            let resolver = options.resolver ?? HostResolver.shared
            LoopActor.spawn { [weak self] in
                let literals = await resolver.literals(of: host)
                guard let self, attempt == number, state == .connecting else { return }
                guard let literal = addresses.next(of: literals) else { return lose(.unavailable) }
                // A silent server must not use up the time in which the next address may lead to one.
                if addresses.hasOthers { limitAttempt(number, to: .milliseconds(500)) }
                var code: Int32 = 0
                open(unsafe cloakroom_connect_internet(literal, port, &code), code, host: host)
            }
        }
    }

    private func limitAttempt(_ number: Int, to limit: Duration) {
        EventPoller.shared.schedule(after: limit) { [weak self] in
            guard let self, attempt == number, state == .connecting else { return }
            guard socket?.isInHandshake == true else { return lose(.timeout) }
            lose(RedisTLSFailure(.silence, "no handshake in time"))
        }
    }

    private func open(_ descriptor: Int32, _ code: Int32, host: String) {
        guard descriptor >= 0, let socket = RedisSocket(owning: descriptor, tls: options.tls, host: host) else {
            return lose(.unavailable)
        }
        self.socket = socket
        guard code == 0 || code == EINPROGRESS else { return lose(.unavailable) }
        reader = RedisReplyParser()
        watch = EventPoller.shared.watch(descriptor, for: [.readable, .writable, .hangup, .edge]) { [unowned self] in
            handle($0)
        }
        sendHandshake()
    }

    /// What every connection says first; it is ready when the last of it has its reply.
    private func sendHandshake() {
        var commands: [RedisCommand] = []
        if let password = options.password {
            commands.append(RedisCommand(["AUTH"] + (options.username.map { [$0] } ?? []) + [password]))
        }
        if options.database != 0 { commands.append(RedisCommand(["SELECT", String(options.database)])) }
        commands.append(RedisCommand(["PING"]))
        // Each with a reply of its own.
        commands += options.channels.map { RedisCommand(["SUBSCRIBE", $0]) }
        pendingHandshakeReplies = commands.count
        outgoing.output = commands.flatMap(\.bytes)
        flush()
    }

    private func handleHandshakeReply(_ reply: RedisReply) {
        if case .error(let message) = reply {
            let refusal = RedisError(refusal: message)
            return lose(refusal, because: refusal)
        }
        if isSubscriber, let message = RedisMessage(reply) {
            owner?.received(message)
            return
        }
        switch reply {
        case .status: break
        case .array where isSubscriber: break
        default: return lose(.unavailable)
        }
        pendingHandshakeReplies -= 1
        if pendingHandshakeReplies == 0 { becomeReady() }
    }

    private func becomeReady() {
        state = .ready
        isAwaited = false
        readySince = Monotonic.now
        keepAlive(attempt)
        owner?.becameReady(self)
    }

    /// Gives the link up and connects again: at once if it has been of use or its name has an address that was not tried
    /// yet, else after the interval, so that a server that accepts connections and drops them is not called in a loop.
    ///
    /// - Parameters:
    ///   - error: for the commands on their way.
    ///   - reason: for those that come until there is a link again.
    func lose(_ error: RedisError, because reason: RedisError = .unavailable) {
        guard state == .ready || state == .connecting else { return }
        let now = Monotonic.now
        let wasReady = isReady
        let wasOfUse = wasReady && (hasReplied || now &- readySince >= options.retryInterval.nanoseconds)
        let isImmediate = wasOfUse && reason == .unavailable
        if isImmediate { addresses.wasOfUse() } else { addresses.fail() }
        let hasOthers = !isImmediate && addresses.hasOthers
        state = .disconnected
        isAwaited = isImmediate && error == .interrupted || isAwaited && hasOthers
        let unsentCount = outgoing.unsentCount
        let loss = Loss(
            error: error, reason: reason, wasReady: wasReady, pending: drop(), unsentCount: unsentCount,
            silence: silence)
        // Many workers lose a server at once: they do not all come back in the same instant.
        let delay = isImmediate || hasOthers ? .zero : options.retryInterval * Double.random(in: 0.5...1)
        EventPoller.shared.schedule(after: delay) { [weak self] in self?.connect() }
        owner?.lost(self, loss)
    }

    /// Without a reply yet, what failed in TLS is why there is no link.
    private func loseSocket() {
        guard state == .connecting, let failure = socket?.failure else { return lose(.interrupted) }
        lose(failure)
    }

    private func lose(_ failure: RedisTLSFailure) { lose(.tls(failure), because: .tls(failure)) }

    private func drop() -> [PendingRedisRequest] {
        if let watch { EventPoller.shared.unwatch(watch) }
        watch = nil
        socket = nil
        outgoing.clear()
        reconnectReason = nil
        return outgoing.takePending()
    }

    // MARK: The pipeline

    /// - Returns: whether one more may be on the way.
    func put(_ request: PendingRedisRequest) -> Bool {
        guard let count = outgoing.append(request, limit: options.maximumPending) else { return false }
        let wasIdle = count == 1
        if wasIdle { lastProgress = Monotonic.now }
        scheduleWatch()
        guard !isFlushScheduled else { return true }
        isFlushScheduled = true
        EventPoller.shared.atTurnEnd { [weak self] in
            self?.isFlushScheduled = false
            if wasIdle { self?.lastProgress = Monotonic.now }
            self?.flush()
        }
        return true
    }

    /// Sends until all is out or the socket takes no more: only then an edge tells when it does again.
    private func flush() {
        while let socket, outgoing.written < outgoing.output.count {
            let count = unsafe outgoing.output.withUnsafeBytes { bytes in
                unsafe socket.send(UnsafeRawBufferPointer(rebasing: bytes[outgoing.written...]))
            }
            guard let count else { return loseSocket() }
            guard count > 0 else { return }
            outgoing.written += count
            outgoing.unsentCount = 0
        }
        outgoing.clear()
    }

    private func handle(_ readiness: EventPoller.Readiness) {
        // Through TLS either may be waiting for the other.
        if readiness.contains(.writable) || socket?.isEncrypted == true { flush() }
        if !readiness.isDisjoint(with: [.readable, .hangup, .error]) { read() }
    }

    private func read() {
        while let socket {
            guard let count = unsafe socket.receive({ unsafe reader.feed($0) }) else { return loseSocket() }
            guard count > 0 else { return }
            lastProgress = Monotonic.now
            takeReplies()
            // What the replies lead to takes its time, too.
            lastProgress = Monotonic.now
            if let reconnectReason { return lose(.interrupted, because: reconnectReason) }
            if socket.isLast(count) { return }
        }
    }

    private func takeReplies() {
        while socket != nil {
            let expected = state == .connecting ? 1 : outgoing.pending.first?.batch.replies ?? 1
            while reader.count < expected {
                switch reader.next() {
                case .reply: continue
                case .incomplete: return
                case .garbage: return lose(.interrupted)
                }
            }
            deliver()
            reader.clear()
        }
    }

    private func deliver() {
        if state == .connecting {
            var cursor = reader.cursor
            return handleHandshakeReply(RedisReply(&cursor))
        }
        if isSubscriber {
            var cursor = reader.cursor
            if let message = RedisMessage(RedisReply(&cursor)) {
                owner?.received(message)
                return
            }
        }
        guard let request = outgoing.pending.popFirst() else { return lose(.interrupted) }
        hasReplied = true
        if let refusal = reader.refusal(0) {
            // The server forgets scripts when it restarts, fails over or is told to: then it is given the text.
            if refusal == .refused(code: "NOSCRIPT"), let whole = request.batch.whole {
                var again = request
                again.batch = whole
                owner?.send(again)
                return
            }
        }
        var isOfCluster = false
        for number in 0..<max(1, request.batch.replies) {
            guard let refusal = reader.refusal(number) else { continue }
            checkForFailover(refusal)
            if refusal.isOfCluster { isOfCluster = true }
        }
        if isOfCluster, owner?.onRedirection?(request, reader.cursor) == true { return }
        request.completion(.reply(reader.cursor))
    }

    /// A replica after failover: the address may lead to the new primary by now.
    private func checkForFailover(_ refusal: RedisError) {
        if refusal.requiresReconnect, reconnectReason == nil { reconnectReason = refusal }
    }

    // MARK: Time

    private func scheduleWatch() {
        guard !isWatchScheduled else { return }
        isWatchScheduled = true
        EventPoller.shared.schedule(after: options.timeout / 4) { [weak self] in
            guard let self else { return }
            isWatchScheduled = false
            guard isReady else { return }
            // The reply may lie in the socket already.
            read()
            guard isReady, !outgoing.pending.isEmpty else { return }
            // What is sent at the end of this turn only, however long that is, the server cannot have replied to.
            let isLate = Monotonic.now > lastProgress &+ options.timeout.nanoseconds
            if isLate, outgoing.unsentCount < outgoing.pending.count || !isFlushScheduled { return lose(.timeout) }
            scheduleWatch()
        }
    }

    /// Sends a PING when nothing else is sent, so that neither an idle timeout on the way nor a silent server is
    /// first noticed by a request.
    private func keepAlive(_ number: Int) {
        EventPoller.shared.schedule(after: options.keepAliveInterval) { [weak self] in
            guard let self, attempt == number, isReady else { return }
            if outgoing.pending.isEmpty { _ = put(PendingRedisRequest(.ping) { _ in }) }
            keepAlive(number)
        }
    }
}
