import CLinux
package import Loop

/// One pipelined connection to Redis: all that a turn of the loop has to ask goes out in one write, and the answers
/// come back in order.
///
/// It connects by itself and again after a loss. Once lost, commands fail at once until it is back: nobody waits for a
/// server that is known to be away.
@LoopActor
package final class RedisConnection {
    package struct Options: Sendable {
        package var address: RedisAddress
        package var username: String?
        package var password: String?
        package var database = 0
        /// `nil` for plain bytes.
        package var tls: RedisTLS?
        /// With commands on the way and no reply for so long, the connection counts as lost; checked four times in that
        /// time.
        package var timeout: Duration = .milliseconds(40)
        /// Between attempts to connect again.
        package var retryInterval: Duration = .milliseconds(250)
        /// Questions on the way; one more is refused.
        package var maximumPending = 20_000

        package init(address: RedisAddress) { self.address = address }
    }

    private enum State {
        case connecting
        case ready
        /// Waiting for the next attempt.
        case away
        case closed
    }

    private struct Asked {
        let question: RedisQuestion
        let completion: @LoopActor (RedisAnswer) -> Void
    }

    /// What is sent and not answered.
    private struct Outgoing {
        var output: [UInt8] = []
        var written = 0
        var pending = Queue<Asked>()

        /// - Returns: how many are on the way now; `nil` if no more may be.
        mutating func append(_ asked: Asked, limit: Int) -> Int? {
            guard pending.count < limit else { return nil }
            output.append(contentsOf: asked.question.bytes)
            pending.append(asked)
            return pending.count
        }

        /// Forgets what is written; as many bytes will come again.
        mutating func clear() {
            output.removeAll(keepingCapacity: output.capacity < 1 << 20)
            written = 0
        }
    }

    private let options: Options
    private var state = State.away
    private var hasBeenLost = false
    /// What is told while the connection is away: the server's own word, if it had one.
    private var reason = RedisError.unavailable
    private var socket: RedisSocket?
    private var watch: Reactor.Watch?
    private var reader = ReplyReader()
    /// Questions for a connection that is being made, and when the first of them came.
    private var early: [Asked] = []
    private var earlySince: UInt64 = 0
    private var outgoing = Outgoing()
    /// Why another server is to be asked from now on, until the connection is given up for it.
    private var elsewhere: RedisError?
    /// When the last reply came, or the first command after a pause went out: a late turn of ours is not Redis' fault.
    private var lastProgress: UInt64 = 0
    private var isFlushScheduled = false
    private var isWatchScheduled = false
    private var attempt = 0
    private var greetings = 0
    private var settling: CheckedContinuation<Void, Never>?

    package init(options: Options) {
        self.options = options
        connect()
    }

    /// Whether commands are being answered.
    package var isReady: Bool { state == .ready }

    /// - Throws: also for an error reply of the server's; the connection stays then, unless the code says that this
    ///   server cannot help.
    package func send(_ command: RedisCommand) async throws(RedisError) -> RedisReply {
        try await outcome(of: RedisQuestion(command)).get()
    }

    /// The first reply to a question.
    func outcome(of question: RedisQuestion) async -> RedisOutcome {
        await withCheckedContinuation { continuation in
            ask(question) { answer in
                switch answer {
                case .failure(let error): continuation.resume(returning: .failure(error))
                case .reply(var reading):
                    continuation.resume(
                        returning: reading.refusal.map { .failure($0) } ?? .success(RedisReply(&reading)))
                }
            }
        }
    }

    /// - Parameter completion: called once; before this returns if the question is refused. What it reads of the answer
    ///   costs no allocation.
    package func ask(_ question: RedisQuestion, _ completion: @escaping @LoopActor (RedisAnswer) -> Void) {
        let asked = Asked(question: question, completion: completion)
        switch state {
        case .ready: if !put(asked) { completion(.failure(reason)) }
        case .connecting where !hasBeenLost && early.count < options.maximumPending:
            if early.isEmpty { earlySince = Monotonic.now }
            early.append(asked)
            scheduleWatch()
        default: completion(.failure(reason))
        }
    }

    /// Returns when the first attempt to connect has succeeded or failed, or the time is up.
    package func settle(within limit: Duration) async {
        guard state == .connecting, !hasBeenLost else { return }
        await withCheckedContinuation { settling in
            self.settling = settling
            Reactor.shared.schedule(after: limit) { [weak self] in self?.settled() }
        }
    }

    private func settled() {
        settling?.resume()
        settling = nil
    }

    package func close() {
        state = .closed
        reason = .unavailable
        drop(.unavailable)
    }

    // MARK: Connecting

    private func connect() {
        guard state == .away else { return }
        state = .connecting
        attempt += 1
        let number = attempt
        Reactor.shared.schedule(after: max(options.timeout, .milliseconds(250)) * 2) { [weak self] in
            guard let self, attempt == number, state == .connecting else { return }
            lose(.timeout)
        }
        switch options.address {
        case .unix(let path):
            var code: Int32 = 0
            open(unsafe cloakroom_connect_unix(path, &code), code, host: "localhost")
        case .internet(let host, let port):
            LoopActor.spawn { [weak self] in
                let literal = await resolve(host)
                guard let self, attempt == number, state == .connecting else { return }
                guard let literal else { return lose(.unavailable) }
                var code: Int32 = 0
                open(unsafe cloakroom_connect_internet(literal, port, &code), code, host: host)
            }
        }
    }

    private func open(_ descriptor: Int32, _ code: Int32, host: String) {
        guard descriptor >= 0, let socket = RedisSocket(owning: descriptor, tls: options.tls, host: host) else {
            return lose(.unavailable)
        }
        self.socket = socket
        guard code == 0 || code == EINPROGRESS else { return lose(.unavailable) }
        reader = ReplyReader()
        watch = Reactor.shared.watch(descriptor, for: [.readable, .writable, .hangup, .edge]) { [unowned self] in
            become($0)
        }
        greet()
    }

    /// What every connection says first; it is ready when the last of it is answered.
    private func greet() {
        var commands: [RedisCommand] = []
        if let password = options.password {
            commands.append(RedisCommand(["AUTH"] + (options.username.map { [$0] } ?? []) + [password]))
        }
        if options.database != 0 { commands.append(RedisCommand(["SELECT", String(options.database)])) }
        commands.append(RedisCommand(["PING"]))
        greetings = commands.count
        outgoing.output = commands.flatMap(\.bytes)
        flush()
    }

    private func takeGreeting(_ reply: RedisReply) {
        if case .error(let message) = reply {
            let refusal = RedisError(refusal: message)
            return lose(refusal, because: refusal)
        }
        guard case .status = reply else { return lose(.unavailable) }
        greetings -= 1
        if greetings == 0 { becomeReady() }
    }

    private func becomeReady() {
        state = .ready
        hasBeenLost = false
        settled()
        let waiting = early
        early = []
        for asked in waiting { ask(asked.question, asked.completion) }
    }

    /// Gives the connection up and tries again after the interval.
    ///
    /// - Parameters:
    ///   - error: for the commands on their way.
    ///   - reason: for those that come until there is a connection again.
    private func lose(_ error: RedisError, because reason: RedisError = .unavailable) {
        guard state != .closed, state != .away else { return }
        state = .away
        self.reason = reason
        hasBeenLost = true
        drop(error)
        Reactor.shared.schedule(after: options.retryInterval) { [weak self] in self?.connect() }
    }

    private func drop(_ error: RedisError) {
        settled()
        if let watch { Reactor.shared.unwatch(watch) }
        watch = nil
        socket = nil
        outgoing.clear()
        elsewhere = nil
        refuseEarly()
        while let asked = outgoing.pending.popFirst() { asked.completion(.failure(error)) }
    }

    private func refuseEarly() {
        let unsent = early
        early = []
        for asked in unsent { asked.completion(.failure(reason)) }
    }

    // MARK: The pipeline

    /// - Returns: whether one more may be on the way.
    private func put(_ asked: Asked) -> Bool {
        guard let count = outgoing.append(asked, limit: options.maximumPending) else { return false }
        let wasIdle = count == 1
        if wasIdle { lastProgress = Monotonic.now }
        scheduleWatch()
        guard !isFlushScheduled else { return true }
        isFlushScheduled = true
        Reactor.shared.atTurnEnd { [weak self] in
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
            guard let count else { return lose(.interrupted) }
            guard count > 0 else { return }
            outgoing.written += count
        }
        outgoing.clear()
    }

    private func become(_ readiness: Reactor.Readiness) {
        // Through TLS either may be waiting for the other.
        if readiness.contains(.writable) || socket?.isEncrypted == true { flush() }
        if !readiness.isDisjoint(with: [.readable, .hangup, .error]) { read() }
    }

    private func read() {
        while let socket {
            guard let count = unsafe socket.receive({ unsafe reader.feed($0) }) else { return lose(.interrupted) }
            guard count > 0 else { return }
            lastProgress = Monotonic.now
            takeReplies()
            if let elsewhere { return lose(.interrupted, because: elsewhere) }
            if socket.isLast(count) { return }
        }
    }

    private func takeReplies() {
        while socket != nil {
            let expected = state == .connecting ? 1 : outgoing.pending.first?.question.replies ?? 1
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
            var reading = reader.reading
            return takeGreeting(RedisReply(&reading))
        }
        guard let asked = outgoing.pending.popFirst() else { return lose(.interrupted) }
        if let refusal = reader.refusal(0) {
            // The server forgets scripts when it restarts, fails over or is told to: then it is given the text.
            if refusal == .refused(code: "NOSCRIPT"), let whole = asked.question.whole {
                return ask(whole, asked.completion)
            }
            judge(refusal)
        }
        if asked.question.replies == 2, let refusal = reader.refusal(1) { judge(refusal) }
        asked.completion(.reply(reader.reading))
    }

    /// A replica after failover: the address may lead to the new primary by now.
    private func judge(_ refusal: RedisError) {
        if refusal.leadsElsewhere, elsewhere == nil { elsewhere = refusal }
    }

    // MARK: Time

    private func scheduleWatch() {
        guard !isWatchScheduled else { return }
        isWatchScheduled = true
        Reactor.shared.schedule(after: options.timeout / 4) { [weak self] in
            guard let self else { return }
            isWatchScheduled = false
            // The reply may lie in the socket already.
            if state == .ready { read() }
            let now = Monotonic.now
            let timeout = options.timeout.nanoseconds
            if state == .ready, !outgoing.pending.isEmpty, now > lastProgress &+ timeout { return lose(.timeout) }
            if !early.isEmpty, now > earlySince &+ timeout { refuseEarly() }
            if !outgoing.pending.isEmpty || !early.isEmpty { scheduleWatch() }
        }
    }
}

/// A literal address for a host name; the system's resolver blocks, so it runs on another thread.
private func resolve(_ host: String) async -> String? {
    await Task.detached { Resolution.literal(of: host) }.value
}
