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
        /// Commands on the way; one more is refused.
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

    private let options: Options
    private var state = State.away
    private var hasBeenLost = false
    /// What is told while the connection is away: the server's own word, if it had one.
    private var reason = RedisError.unavailable
    private var socket: RedisSocket?
    private var watch: Reactor.Watch?
    private var reader = ReplyReader()
    private var output: [UInt8] = []
    private var written = 0
    /// Commands for a connection that is being made, and when the first of them came.
    private var early: [([UInt8], RedisWaiter)] = []
    private var earlySince: UInt64 = 0
    private var pending = Queue<RedisWaiter>()
    /// The first outcome of two, while the other is on the way.
    private var half: RedisOutcome?
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
        try await withCheckedContinuation { continuation in
            send(command) { continuation.resume(returning: $0) }
        }.get()
    }

    /// - Parameter completion: called once; before this returns if the command is refused.
    func send(_ command: RedisCommand, _ completion: @escaping @LoopActor (RedisOutcome) -> Void) {
        take(command.bytes, .one(completion))
    }

    /// Two commands in one write, and so in one round trip; on a cluster their keys may lie in different slots.
    ///
    /// - Parameter completion: as above, with what each came to.
    package func send(
        _ first: RedisCommand, beside second: RedisCommand,
        _ completion: @escaping @LoopActor (RedisOutcome, RedisOutcome) -> Void
    ) {
        take(first.bytes + second.bytes, .both(completion))
    }

    private func take(_ bytes: [UInt8], _ waiter: RedisWaiter) {
        switch state {
        case .ready where pending.count < options.maximumPending: put(bytes, waiter)
        case .connecting where !hasBeenLost && early.count < options.maximumPending:
            if early.isEmpty { earlySince = Monotonic.now }
            early.append((bytes, waiter))
            scheduleWatch()
        default: waiter.refuse(reason)
        }
    }

    /// What a reply means to who asked; an error reply is none.
    private static func outcome(_ reply: RedisReply) -> RedisOutcome {
        guard case .error(let message) = reply else { return .success(reply) }
        return .failure(RedisError(refusal: message))
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
        output = commands.flatMap(\.bytes)
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
        for (bytes, waiter) in early { put(bytes, waiter) }
        early = []
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
        output = []
        written = 0
        elsewhere = nil
        refuseEarly()
        let first = half
        half = nil
        var waiters = pending
        pending = Queue()
        waiters.popFirst()?.refuse(error, after: first)
        while let waiter = waiters.popFirst() { waiter.refuse(error) }
    }

    private func refuseEarly() {
        let unsent = early
        early = []
        for (_, waiter) in unsent { waiter.refuse(reason) }
    }

    // MARK: The pipeline

    private func put(_ bytes: [UInt8], _ waiter: RedisWaiter) {
        output += bytes
        pending.append(waiter)
        let wasIdle = pending.count == 1
        if wasIdle { lastProgress = Monotonic.now }
        scheduleWatch()
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        Reactor.shared.atTurnEnd { [weak self] in
            self?.isFlushScheduled = false
            if wasIdle { self?.lastProgress = Monotonic.now }
            self?.flush()
        }
    }

    /// Sends until all is out or the socket takes no more: only then an edge tells when it does again.
    private func flush() {
        while let socket, written < output.count {
            let count = unsafe output.withUnsafeBytes { bytes in
                unsafe socket.send(UnsafeRawBufferPointer(rebasing: bytes[written...]))
            }
            guard let count else { return lose(.interrupted) }
            guard count > 0 else { return }
            written += count
        }
        output.removeAll(keepingCapacity: output.capacity < 1 << 20)
        written = 0
    }

    private func become(_ readiness: Reactor.Readiness) {
        // Through TLS either may be waiting for the other.
        if readiness.contains(.writable) || socket?.shortReadIsLast == false { flush() }
        if !readiness.isDisjoint(with: [.readable, .hangup, .error]) { read() }
    }

    private func read() {
        while let socket {
            let size = 65_536
            let count = unsafe withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer -> Int? in
                guard let count = unsafe socket.receive(into: buffer) else { return nil }
                guard count > 0 else { return 0 }
                return unsafe reader.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count])) ? count : nil
            }
            guard let count else { return lose(.interrupted) }
            guard count > 0 else { return }
            lastProgress = Monotonic.now
            takeReplies()
            if let elsewhere { return lose(.interrupted, because: elsewhere) }
            if count < size, socket.shortReadIsLast { return }
        }
    }

    private func takeReplies() {
        while socket != nil {
            switch reader.next() {
            case .incomplete: return
            case .garbage: return lose(.interrupted)
            case .reply(let reply):
                if state == .connecting {
                    takeGreeting(reply)
                    continue
                }
                guard deliver(Self.outcome(reply)) else { return lose(.interrupted) }
            }
        }
    }

    /// - Returns: whether anybody waits for it.
    private func deliver(_ outcome: RedisOutcome) -> Bool {
        switch pending.first {
        case .one(let completion)?:
            pending.removeFirst()
            judge(outcome)
            completion(outcome)
        case .both(let completion)?:
            guard let first = half else {
                half = outcome
                return true
            }
            half = nil
            pending.removeFirst()
            judge(first)
            judge(outcome)
            completion(first, outcome)
        case nil: return false
        }
        return true
    }

    /// A replica after failover: the address may lead to the new primary by now.
    private func judge(_ outcome: RedisOutcome) {
        guard case .failure(let refusal) = outcome, refusal.leadsElsewhere, elsewhere == nil else { return }
        elsewhere = refusal
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
            if state == .ready, !pending.isEmpty, now > lastProgress &+ timeout { return lose(.timeout) }
            if !early.isEmpty, now > earlySince &+ timeout { refuseEarly() }
            if !pending.isEmpty || !early.isEmpty { scheduleWatch() }
        }
    }
}

/// A literal address for a host name; the system's resolver blocks, so it runs on another thread.
private func resolve(_ host: String) async -> String? {
    await Task.detached { Resolution.literal(of: host) }.value
}
