package import CloakroomLoop

/// The way to one Redis server: all that a turn of the loop has to send goes out in one write, and the replies come back
/// in order.
///
/// When a link is lost, another is made at once, or the spare one takes over; requests that come meanwhile wait for no
/// longer than ``Options/timeout``. When that fails, commands fail at once until a link is there again: nothing waits
/// for a server that is known to be unreachable.
@LoopActor
package final class RedisConnection: RedisClient {
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
        /// Between attempts to connect again, at most; at least half of it.
        package var retryInterval: Duration = .milliseconds(250)
        /// After so long without a request a link is checked with a PING.
        package var keepAliveInterval: Duration = .seconds(10)
        /// Whether a second link is kept, to move to when the first is lost.
        package var keepsSpare = false
        /// Requests on the way; one more is refused.
        package var maximumPending = 20_000
        /// What is subscribed to; a connection with any sends no requests.
        package var channels: [String] = []
        /// `nil` for the system's.
        package var resolver: HostResolver?

        package init(address: RedisAddress) { self.address = address }
    }

    private let options: Options
    private var links: [RedisLink] = []
    /// What all requests go out on; `nil` before there has been one.
    private var active: RedisLink?
    /// What is told while there is no link: the server's own word, if it had one.
    private var reason = RedisError.unavailable
    /// Requests that wait for a link that is being made, and when the first of them came.
    private var early: [PendingRedisRequest] = []
    private var earlySince: UInt64 = 0
    private var isWatchScheduled = false
    private var isClosed = false
    private var settling: CheckedContinuation<Void, Never>?

    package var onRepeat: (@LoopActor () -> Void)?
    /// Called when requests get replies that got none before.
    var onReady: (@LoopActor () -> Void)?
    /// Called for each link that is lost after it was of use, with why requests are refused until there is one again, and
    /// for each that is refused as by a replica.
    var onLoss: (@LoopActor (RedisError) -> Void)?
    var onMessage: (@LoopActor (RedisMessage) -> Void)?
    /// Called when a part of a request was refused because the server is one of a cluster; returns whether the request is
    /// in hand.
    var onRedirection: (@LoopActor (PendingRedisRequest, RedisReplyCursor) -> Bool)?

    package init(options: Options) {
        self.options = options
        links = (0..<(options.keepsSpare ? 2 : 1)).map { _ in RedisLink(options: options, owner: self) }
        for link in links { link.connect() }
    }

    package var isReady: Bool { active?.isReady == true }

    package var pendingCount: Int { links.reduce(early.count) { $0 + $1.pendingCount } }

    package var currentServers: [RedisAddress] { [options.address] }

    package var refusal: RedisError? {
        !isReady && reason.isExplained ? reason : nil
    }

    package func send(_ batch: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        send(PendingRedisRequest(batch, completion: completion))
    }

    func send(_ request: PendingRedisRequest) {
        if let active, active.isReady {
            if !active.put(request) { request.completion(.failure(.unavailable)) }
        } else if mayWait, early.count < options.maximumPending {
            if early.isEmpty { earlySince = Monotonic.now }
            early.append(request)
            scheduleWatch()
        } else {
            request.completion(.failure(reason))
        }
    }

    /// Whether a link is being made for the first time, or for the first time since one was lost.
    private var mayWait: Bool { !isClosed && links.contains { $0.isAwaited } }

    package func settle(within limit: Duration) async {
        guard !isReady, mayWait else { return }
        await withCheckedContinuation { settling in
            self.settling = settling
            EventPoller.shared.schedule(after: limit) { [weak self] in self?.settled() }
        }
    }

    private func settled() {
        settling?.resume()
        settling = nil
    }

    package func close() {
        isClosed = true
        reason = .unavailable
        settled()
        let unanswered = links.flatMap { $0.close() }
        refuseEarly()
        for request in unanswered { request.completion(.failure(.unavailable)) }
    }

    /// Closes this connection for another. What has no reply here goes there as it would after a lost link, and what has
    /// waited for a link does so there.
    ///
    /// - Parameter next: sends a request there.
    func close(movingTo next: @LoopActor (PendingRedisRequest) -> Void) {
        isClosed = true
        reason = .unavailable
        settled()
        for link in links {
            let unsentCount = link.unsentCount
            let isInTime = link.silence <= (options.timeout / 4).nanoseconds
            let pending = link.close()
            for (index, request) in pending.enumerated() {
                if index >= pending.count - unsentCount {
                    next(request)
                } else if isInTime, request.mayRepeat {
                    onRepeat?()
                    next(request.again)
                } else {
                    request.completion(.failure(.interrupted))
                }
            }
        }
        let waiting = early
        early = []
        for request in waiting { next(request) }
    }

    // MARK: Links

    func becameReady(_ link: RedisLink) {
        if !isReady { active = link }
        settled()
        let waiting = early
        early = []
        for request in waiting { send(request) }
        onReady?()
    }

    func received(_ message: RedisMessage) { onMessage?(message) }

    func lost(_ link: RedisLink, _ loss: RedisLink.Loss) {
        reason = loss.reason
        let mayHaveGoneOn = loss.error == .interrupted && loss.reason == .unavailable
        if link === active, loss.wasReady {
            // A server that is silent, or cannot help, is so for both.
            if !mayHaveGoneOn { for other in links where other !== link { other.lose(loss.error, because: reason) } }
            active = links.first { $0.isReady } ?? link
        }
        if !isReady, !mayWait {
            refuseEarly()
            settled()
        }
        // What has waited for long already would get its reply too late.
        let isInTime = loss.silence <= (options.timeout / 4).nanoseconds
        for (index, request) in loss.pending.enumerated() {
            if mayHaveGoneOn, index >= loss.pending.count - loss.unsentCount {
                send(request)
            } else if mayHaveGoneOn, isInTime, request.mayRepeat {
                sendAgain(request)
            } else {
                request.completion(.failure(loss.error))
            }
        }
        if loss.wasReady || reason.requiresReconnect { onLoss?(reason) }
    }

    private func sendAgain(_ request: PendingRedisRequest) {
        onRepeat?()
        send(request.again)
    }

    private func refuseEarly() {
        let unsent = early
        early = []
        for request in unsent { request.completion(.failure(reason)) }
    }

    /// Refuses what has waited for as long as it may, and what comes after it until there is a link.
    private func scheduleWatch() {
        guard !isWatchScheduled else { return }
        isWatchScheduled = true
        EventPoller.shared.schedule(after: options.timeout / 4) { [weak self] in
            guard let self else { return }
            isWatchScheduled = false
            guard !early.isEmpty else { return }
            guard Monotonic.now > earlySince &+ options.timeout.nanoseconds else { return scheduleWatch() }
            for link in links { link.stopWaiting() }
            refuseEarly()
        }
    }
}
