package import CloakroomLoop

/// The sentinels of one master: asks them where it is, and hears from them when it moves.
///
/// Each has two connections: one for requests, and one that is subscribed and takes none (redis.io, "Guidelines for
/// Redis clients with support for Redis Sentinel").
@LoopActor
package final class RedisSentinels {
    package struct Options: Sendable {
        package var addresses: [RedisAddress]
        /// The name that the sentinels watch the master by.
        package var master: String
        package var username: String?
        package var password: String?
        /// `nil` for plain bytes.
        package var tls: RedisTLS?
        /// How long a sentinel may take to respond.
        package var timeout: Duration = .milliseconds(250)
        /// Between PINGs on an idle connection.
        package var keepAliveInterval: Duration = .seconds(10)

        package init(addresses: [RedisAddress], master: String) {
            self.addresses = addresses
            self.master = master
        }

        /// To each sentinel.
        fileprivate var connections: [RedisConnection.Options] {
            addresses.map { address in
                var connection = RedisConnection.Options(address: address)
                connection.username = username
                connection.password = password
                connection.tls = tls
                connection.timeout = timeout
                connection.keepAliveInterval = keepAliveInterval
                return connection
            }
        }

        /// Which server is the master, and by which failover.
        fileprivate var request: RedisRequest {
            RedisRequest(
                RedisCommand(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", master]),
                RedisCommand(["SENTINEL", "MASTER", master]), mayRepeat: true)
        }
    }

    /// What one sentinel responds.
    package struct Status: Sendable, Equatable {
        package let sentinel: RedisAddress
        /// The master that it names, or why it names none.
        package let master: Result<RedisAddress, RedisError>

        package init(sentinel: RedisAddress, master: Result<RedisAddress, RedisError>) {
            self.sentinel = sentinel
            self.master = master
        }
    }

    /// A failover that a sentinel has begun: it was elected for it, and has told a replica to be the master.
    struct Promotion: Sendable, Equatable {
        let former: RedisAddress
        let promoted: RedisAddress

        /// - Parameter text: `slave NAME HOST PORT @ MASTER HOST PORT`.
        /// - Returns: `nil` for what concerns another master.
        init?(_ text: String, master: String) {
            let words = text.split(separator: " ").map(String.init)
            guard words.count == 8, words[4] == "@", words[5] == master,
                let promoted = RedisAddress(host: words[2], port: words[3]),
                let former = RedisAddress(host: words[6], port: words[7])
            else { return nil }
            self.former = former
            self.promoted = promoted
        }
    }

    /// The sentinels' own names of events. Those of a promotion come a second or more before `+switch-master`, which
    /// waits until the other replicas follow.
    static let promotions = ["+failover-state-wait-promotion", "+promoted-slave"]
    static let switches = ["+switch-master"]

    private let master: String
    private let timeout: Duration
    private let requests: [RedisConnection]
    private let subscriptions: [RedisConnection]
    private let request: RedisRequest

    /// Called when the master may have moved, or a sentinel can be asked that could not before.
    var onNews: (@LoopActor () -> Void)?
    var onPromotion: (@LoopActor (Promotion) -> Void)?

    init(options: Options) {
        master = options.master
        timeout = options.timeout
        let connections = options.connections
        requests = connections.map { RedisConnection(options: $0) }
        subscriptions = connections.map { options in
            var options = options
            options.channels = Self.switches + Self.promotions
            return RedisConnection(options: options)
        }
        request = options.request
        for connection in requests { connection.onReady = { [weak self] in self?.onNews?() } }
        for connection in subscriptions {
            // What was published while it was lost is not published again.
            connection.onReady = { [weak self] in self?.onNews?() }
            connection.onMessage = { [weak self] in self?.handle($0) }
        }
    }

    /// Asks all at once; returns as soon as more than half agree, and else when all have responded or had their time.
    func votes() async -> SentinelVotes {
        await withCheckedContinuation { continuation in
            let poll = SentinelPoll(sentinels: requests.count) { continuation.resume(returning: $0) }
            for sentinel in requests { sentinel.send(request) { poll.add(SentinelVote.reading($0)) } }
            // A sentinel that is connected to first may take as long again.
            EventPoller.shared.schedule(after: timeout * 2) { poll.finish() }
        }
    }

    /// Requests the master of each sentinel, all at once, and waits for all of them.
    ///
    /// - Returns: in the order of the addresses.
    package static func statuses(_ options: Options) async -> [Status] {
        let tasks = options.connections.map { server in
            LoopActor.spawn {
                let connection = RedisConnection(options: server)
                defer { connection.close() }
                await connection.settle(within: options.timeout)
                let vote = await withCheckedContinuation { continuation in
                    connection.send(options.request) { continuation.resume(returning: SentinelVote.reading($0)) }
                }
                return Status(sentinel: server.address, master: vote.map(\.master))
            }
        }
        var statuses: [Status] = []
        for task in tasks { statuses.append(await task.value) }
        return statuses
    }

    func close() {
        onNews = nil
        onPromotion = nil
        for connection in requests + subscriptions { connection.close() }
    }

    private func handle(_ message: RedisMessage) {
        if Self.promotions.contains(message.channel) {
            if let promotion = Promotion(message.text, master: master) { onPromotion?(promotion) }
        } else if message.text.hasPrefix("\(master) ") {
            onNews?()
        }
    }
}

/// The votes of one round, until there are enough.
@LoopActor
private final class SentinelPoll {
    private var votes: SentinelVotes
    private var completion: (@LoopActor (SentinelVotes) -> Void)?

    init(sentinels: Int, _ completion: @escaping @LoopActor (SentinelVotes) -> Void) {
        votes = SentinelVotes(sentinels: sentinels)
        self.completion = completion
    }

    func add(_ vote: Result<SentinelVote, RedisError>) {
        votes.add(vote)
        if votes.isDecided { finish() }
    }

    func finish() {
        guard let completion = completion.take() else { return }
        completion(votes)
    }
}
