package import CloakroomLoop

/// The way to the master that Redis Sentinel names: a ``RedisConnection``, which is replaced when the master moves.
///
/// A server counts as the master when most sentinels name it, it says so itself, and it takes a write: a sentinel may be
/// behind, and a former master that comes back says for seconds that it still is one. While a failover is under way,
/// the sentinel that was elected for it names the new master before the others know; it is believed when the former master
/// has named that server as its replica.
///
/// A master that was found is kept while no sentinel responds, and while fewer than half of all name another; unless these
/// know of a later failover, and it is lost or refuses writes for want of replicas. At the start requests wait for a master as they wait for a
/// connection: no longer than the timeout; after that they fail at once until there is one.
@LoopActor
package final class RedisFailoverClient: RedisClient {
    package struct Options: Sendable {
        package var sentinels: RedisSentinels.Options
        /// To the master; its address is replaced.
        package var server: RedisConnection.Options
        /// What is written to try a server: a key of no other use, which lives for a second.
        /// `nil` to write nothing: then a server's word is enough.
        package var trialKey: String?
        /// Between two rounds with nothing amiss: an event of the sentinels' may be missed.
        package var checkInterval: Duration = .seconds(5)
        /// Between two rounds while no master is found.
        package var retryInterval: Duration = .milliseconds(250)
        /// How often the master is asked for its replicas: one that came since is not believed when it is promoted.
        package var replicasInterval: Duration = .seconds(1)

        package init(sentinels: RedisSentinels.Options, server: RedisConnection.Options, trialKey: String?) {
            self.sentinels = sentinels
            self.server = server
            self.trialKey = trialKey
        }
    }

    /// How long an elected sentinel is trusted before the others say the same.
    private static let promotionLifetime: Duration = .seconds(15)
    /// The least time between two rounds, whatever the sentinels publish.
    private static let leastInterval: Duration = .milliseconds(20)

    private let options: Options
    private let sentinels: RedisSentinels
    private let trial: MasterTrial
    private var current: RedisConnection?
    /// Where the requests go; `nil` before a master was found.
    package private(set) var master: RedisAddress?
    /// How many masters there have been.
    private var masterNumber = 0
    /// Where the last step through the keys is to be followed by the next one, and of which master it was.
    private var lastStep: (next: String, masterNumber: Int)?
    /// Whether the master has refused as a replica does, and was not tried since.
    private var isSuspect = false
    /// Of the latest failover that is known to have made it the master.
    private var epoch = 0
    /// Those of the master, as it named them when it was asked last.
    package private(set) var replicas: Set<RedisAddress> = []
    private var promotion: RedisSentinels.Promotion?
    private var promotedAt: UInt64 = 0
    /// Whether the former master has named the promoted server as its replica. It does so no longer once that has left it.
    private var isPromotionBelieved = false
    /// Why there is no master.
    private var reason = RedisError.unavailable
    /// Why the server that the sentinels name took no connection of ours, if it has said so.
    private var refusalOfNamed: RedisError?

    private var waiting: WaitingRequests
    private let pause = InterruptiblePause()
    private var isClosed = false
    private var settling: CheckedContinuation<Void, Never>?

    package var onRepeat: (@LoopActor () -> Void)?
    /// Called when the master is another than before.
    package var onMaster: (@LoopActor (RedisAddress) -> Void)?

    package init(options: Options) {
        self.options = options
        waiting = WaitingRequests(limit: options.server.maximumPending)
        sentinels = RedisSentinels(options: options.sentinels)
        trial = MasterTrial(key: options.trialKey)
        sentinels.onNews = { [weak self] in self?.pause.interrupt() }
        sentinels.onPromotion = { [weak self] in self?.promoted($0) }
        EventPoller.shared.schedule(after: options.server.timeout) { [weak self] in self?.stopWaiting() }
        LoopActor.spawn { await self.follow() }
        LoopActor.spawn { await self.followReplicas() }
    }

    // MARK: Requests

    package var isReady: Bool { current?.isReady == true }

    package var pendingCount: Int { waiting.count + (current?.pendingCount ?? 0) }

    package var currentServers: [RedisAddress] { master.map { [$0] } ?? [] }

    package var refusal: RedisError? {
        // A former master that refuses writes leads to no remedy; what the new one says does.
        if isReady { return isSuspect ? refusalOfNamed : nil }
        if let refusal = refusalOfNamed ?? current?.refusal { return refusal }
        return current == nil && reason.isExplained ? reason : nil
    }

    package func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        if let current { return current.send(request, completion) }
        if !waiting.add(PendingRedisRequest(request, completion: completion)) { completion(.failure(reason)) }
    }

    /// The cursor names the master, so that another process can go on: by its process, else by its address.
    package func scan(
        from cursor: String, matching pattern: String
    ) async throws(RedisError) -> (keys: [String], next: String) {
        guard cursor == "0" || cursor.contains(":") else { throw .refused(code: "MALFORMED") }
        // A server that was replaced between two steps, and is the master again, may show in the number alone.
        let isInterrupted = lastStep.map { $0.next == cursor && $0.masterNumber != masterNumber } ?? false
        let before = masterNumber
        let step = try await scanStep(from: cursor, matching: pattern)
        // The step may have waited for the first one.
        guard !isInterrupted, masterNumber == max(before, 1), let master else { throw .noCursor }
        let page = try step.page(after: cursor, of: step.process ?? "\(master)")
        lastStep = page.next == "0" ? nil : (next: page.next, masterNumber: masterNumber)
        return page
    }

    package func settle(within limit: Duration) async {
        guard !isReady, !isClosed else { return }
        await withCheckedContinuation { settling in
            self.settling = settling
            EventPoller.shared.schedule(after: limit) { [weak self] in self?.settled() }
        }
    }

    package func close() {
        isClosed = true
        reason = .unavailable
        sentinels.close()
        current?.close()
        stopWaiting()
        settled()
        pause.interrupt()
    }

    private func settled() {
        settling?.resume()
        settling = nil
    }

    private func stopWaiting() {
        for request in waiting.end() { request.completion(.failure(reason)) }
    }

    // MARK: The master

    /// Looks for the master until this is closed: at once when there is news, and from time to time.
    private func follow() async {
        while !isClosed {
            let isFound = await check()
            settled()
            try? await LoopActor.sleep(for: Self.leastInterval)
            let interval: Duration
            if isPromotionBelieved, isPromotion(), promotion?.former == master {
                // A replica that was just told to be the master becomes one in some milliseconds. What the former master
                // takes until then and later is lost.
                interval = isPromotion(newerThan: .seconds(1)) ? .zero : options.retryInterval
            } else {
                interval = isFound ? options.checkInterval : options.retryInterval
            }
            await pause.wait(interval * Double.random(in: 0.5...1))
        }
    }

    /// Learns which replicas the master has, until this is closed.
    private func followReplicas() async {
        while !isClosed {
            try? await LoopActor.sleep(for: options.replicasInterval * Double.random(in: 0.5...1))
            await lookAtMaster()
        }
    }

    /// - Returns: whether the master is in use, as far as the sentinels can tell.
    private func check() async -> Bool {
        if let promotion, isPromotion(), promotion.former == master, await believes(promotion),
            await adopt(promotion.promoted)
        {
            return true
        }
        let votes = await sentinels.votes()
        guard !isClosed else { return false }
        guard let named = votes.master else {
            reason = votes.failure
            return isWorking
        }
        if named == master {
            if promotion?.promoted == master { promotion = nil }
            epoch = max(epoch, votes.epoch(of: named))
            if isSuspect { await lookAtMaster() }
            return isWorking
        }
        // The other sentinels do not know yet.
        if isWorking, promotion?.promoted == master, promotion?.former == named, isPromotion() { return true }
        // A few sentinels alone, of which one may be behind, do not take a master away that works, nor one that was lost
        // for a moment.
        if master != nil, !votes.agree(on: named) {
            guard votes.epoch(of: named) > epoch else { return isWorking }
            // One whose replicas are another's by now refuses all writes; see `min-replicas-to-write`.
            if isWorking, let current { guard await trial.lacksReplicas(current) else { return isWorking } }
        }
        guard await adopt(named) else { return false }
        epoch = max(epoch, votes.epoch(of: named))
        return true
    }

    /// Whether the master has named the promoted server; it is asked again while it can be.
    private func believes(_ promotion: RedisSentinels.Promotion) async -> Bool {
        if !isPromotionBelieved { await lookAtMaster() }
        return isPromotionBelieved && promotion == self.promotion
    }

    /// Whether it still is one, where that is in doubt, and which replicas it has.
    private func lookAtMaster() async {
        guard let current, current.isReady else { return }
        if isSuspect { isSuspect = await !trial.passes(current) }
        guard !isSuspect, let replicas = await MasterTrial.replicas(of: current), current === self.current else {
            return
        }
        self.replicas = replicas
        believePromotion()
    }

    private func believePromotion() {
        guard !isPromotionBelieved, let promotion, promotion.former == master, replicas.contains(promotion.promoted)
        else { return }
        isPromotionBelieved = true
        pause.interrupt()
    }

    private var isWorking: Bool { isReady && !isSuspect }

    private func isPromotion(newerThan age: Duration = promotionLifetime) -> Bool {
        promotion != nil && Monotonic.now &- promotedAt < age.nanoseconds
    }

    private func promoted(_ promotion: RedisSentinels.Promotion) {
        // Said again, it is the same one.
        guard promotion != self.promotion else { return }
        self.promotion = promotion
        promotedAt = Monotonic.now
        isPromotionBelieved = false
        believePromotion()
        pause.interrupt()
    }

    /// Connects to each replica of the master as to the master: one that refuses us would be of no use after a failover.
    ///
    /// - Parameter call: what each is to run, and may refuse.
    /// - Returns: those that refuse the connection, or to run that.
    package func replicaRefusals(
        of call: RedisScript.Call
    ) async -> [(replica: RedisAddress, error: RedisError)] {
        await lookAtMaster()
        var refusals: [(replica: RedisAddress, error: RedisError)] = []
        for address in replicas.sorted(by: { "\($0)" < "\($1)" }) {
            var server = options.server
            server.address = address
            let connection = RedisConnection(options: server)
            defer { connection.close() }
            await connection.settle(within: server.timeout)
            if let refusal = connection.refusal { refusals.append((address, refusal)) }
            guard connection.isReady else { continue }
            do throws(RedisError) { _ = try await connection.run(call) } catch {
                if case .refused = error { refusals.append((address, error)) }
            }
        }
        return refusals
    }

    /// Connects to a server and tries it; if it is the master, requests go there from now on.
    private func adopt(_ address: RedisAddress) async -> Bool {
        var server = options.server
        server.address = address
        let connection = RedisConnection(options: server)
        await connection.settle(within: min(.seconds(1), max(server.timeout, .milliseconds(250)) * 2))
        guard !isClosed, connection.isReady, await trial.passes(connection), !isClosed else {
            refusalOfNamed = connection.refusal
            reason = refusalOfNamed ?? .unavailable
            connection.close()
            return false
        }
        use(connection, at: address)
        return true
    }

    private func use(_ connection: RedisConnection, at address: RedisAddress) {
        let former = current
        current = connection
        master = address
        masterNumber += 1
        isSuspect = false
        refusalOfNamed = nil
        replicas = []
        connection.onRepeat = { [weak self] in self?.onRepeat?() }
        connection.onLoss = { [weak self, weak connection] reason in
            guard let self, let connection, connection === current else { return }
            if reason.requiresReconnect { isSuspect = true }
            pause.interrupt()
        }
        former?.close { connection.send($0) }
        for request in waiting.take() { connection.send(request) }
        onMaster?(address)
        LoopActor.spawn { await self.lookAtMaster() }
    }
}
