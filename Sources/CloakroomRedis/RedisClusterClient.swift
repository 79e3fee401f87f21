package import CloakroomLoop

/// The way to a Redis Cluster: a ``RedisConnection`` to each primary, and the map that says which of them has a key.
///
/// The map is read anew, as a whole, when a server redirects, refuses, or is lost, and from time to time. Several nodes are
/// asked for it, because one that was cut off from the others does not know of a failover (redis.io, "Redis cluster
/// specification").
///
/// A request whose keys lie on several primaries goes to all of them in the same turn of the loop. It fails when all of
/// them fail; of fewer, the reply says which part is lost.
@LoopActor
package final class RedisClusterClient: RedisClient {
    package struct Options: Sendable {
        /// Whom to ask first; the cluster names the others.
        package var nodes: [RedisAddress]
        /// To each primary; its address is replaced.
        package var server: RedisConnection.Options
        /// Between two looks at the map with nothing amiss.
        package var checkInterval: Duration = .seconds(10)
        /// Between two looks while a slot has no server, or its server no connection.
        package var retryInterval: Duration = .milliseconds(250)

        package init(nodes: [RedisAddress], server: RedisConnection.Options) {
            self.nodes = nodes
            self.server = server
        }
    }

    /// How long a request is sent elsewhere, before it gets the refusal.
    private static let redirectionTimeout: Duration = .milliseconds(500)
    /// The least time between two looks: while slots move, every request may be redirected. It doubles while news goes on.
    private nonisolated static let leastIntervals = (first: Duration.milliseconds(20), last: Duration.milliseconds(100))
    private static let asking = RedisCommand(["ASKING"])

    private let options: Options
    private let nodes: ClusterNodes
    private let connections: ClusterServers
    private var map: SlotMap?
    /// How many maps there have been.
    private var mapNumber = 0
    /// Where the last step through the keys is to be followed by the next one, and of which map it was.
    private var lastStep: (next: String, mapNumber: Int)?
    /// In the order of the map's.
    private var primaries: [RedisConnection] = []
    private var reason = RedisError.unavailable
    private var waiting: WaitingRequests
    private let pause = InterruptiblePause()
    private var isClosed = false
    private var settling: CheckedContinuation<Void, Never>?

    package var onRepeat: (@LoopActor () -> Void)?
    /// Called when the primaries are others than before.
    package var onMap: (@LoopActor ([RedisAddress]) -> Void)?

    package init(options: Options) {
        self.options = options
        nodes = ClusterNodes(configured: options.nodes, options: options.server)
        connections = ClusterServers(options: options.server)
        waiting = WaitingRequests(limit: options.server.maximumPending)
        connections.onConnection = { [weak self] in self?.serve($0, at: $1) }
        EventPoller.shared.schedule(after: options.server.timeout) { [weak self] in self?.stopWaiting() }
        LoopActor.spawn { await self.follow() }
    }

    private func serve(_ connection: RedisConnection, at address: RedisAddress) {
        connection.onRepeat = { [weak self] in self?.onRepeat?() }
        connection.onLoss = { [weak self] _ in self?.pause.interrupt() }
        connection.onReady = { [weak self] in self?.pause.interrupt() }
        connection.onRedirection = { [weak self] in self?.redirected($0, $1, from: address) ?? false }
    }

    // MARK: Requests

    /// Whether some requests get replies: one primary that is lost does not take the keys of the others with it.
    package var isReady: Bool { primaries.contains { $0.isReady } }

    package var pendingCount: Int { primaries.reduce(waiting.count) { $0 + $1.pendingCount } }

    package var currentServers: [RedisAddress] { servers.map(\.address) }

    package var keyTags: [(server: RedisAddress?, tag: String)] { map?.keyTags ?? [(server: nil, tag: "0")] }

    package var refusal: RedisError? {
        guard !isReady else { return nil }
        if let refusal = primaries.lazy.compactMap(\.refusal).first { return refusal }
        return map == nil && reason.isExplained ? reason : nil
    }

    package func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        send(PendingRedisRequest(request, completion: completion))
    }

    private func send(_ request: PendingRedisRequest) {
        guard let map else {
            if !waiting.add(request) { request.completion(.failure(reason)) }
            return
        }
        switch Self.place(of: request.batch, in: map) {
        case .anywhere: anyPrimary.send(request)
        case .one(let owner): primaries[owner].send(request)
        case .several: scatter(request)
        case .nowhere: request.completion(.failure(.unavailable))
        }
    }

    private enum Place {
        case anywhere, several, nowhere
        case one(Int)
    }

    private static func place(of request: RedisRequest, in map: SlotMap) -> Place {
        var owner: Int?
        for part in 0..<request.replies {
            guard let slot = request.slots[part] else { continue }
            guard let next = map[slot] else { return request.replies == 1 ? .nowhere : .several }
            if let owner, owner != next { return .several }
            owner = next
        }
        return owner.map { .one($0) } ?? .anywhere
    }

    /// Each primary with a way to it alone; empty before there is a map.
    package var servers: [(address: RedisAddress, connection: RedisConnection)] {
        zip(map?.primaries ?? [], primaries).map { ($0, $1) }
    }

    private var anyPrimary: RedisConnection { primaries.first { $0.isReady } ?? primaries[0] }

    /// Sends each part to the primary of its key.
    private func scatter(_ request: PendingRedisRequest) {
        let gathering = GatheredReplies(count: request.batch.replies, request.completion)
        for number in 0..<request.batch.replies {
            send(request.part(number) { gathering.add($0, number) })
        }
    }

    /// Through the keys of one primary after the other; the cursor says by which owners of the slots, which primary,
    /// and how far in which process of it, so that another process can go on.
    ///
    /// - Throws: also when slots have got other servers since the first step, or the primary has restarted: keys would
    ///   be left out.
    package func scan(
        from cursor: String, matching pattern: String
    ) async throws(RedisError) -> (keys: [String], next: String) {
        guard let map, !primaries.isEmpty else { throw reason }
        let digest = map.digest
        let parts = cursor == "0" ? [digest, "0", "0"] : cursor.split(separator: ":", maxSplits: 2).map(String.init)
        guard parts.count == 3, let number = Int(parts[1]) else { throw .refused(code: "MALFORMED") }
        // Slots that went to another server between two steps, and came back, show in the number alone.
        let isInterrupted = lastStep.map { $0.next == cursor && $0.mapNumber != mapNumber } ?? false
        guard parts[0] == digest, !isInterrupted, primaries.indices.contains(number) else {
            throw .refused(code: "MOVED")
        }
        let before = mapNumber
        let (keys, rest) = try await primaries[number].scan(from: parts[2], matching: pattern)
        guard mapNumber == before else { throw .refused(code: "MOVED") }
        guard rest != "0" || number + 1 < primaries.count else { return (keys, "0") }
        let next = rest == "0" ? "\(digest):\(number + 1):0" : "\(digest):\(number):\(rest)"
        lastStep = (next, before)
        return (keys, next)
    }

    // MARK: Redirections

    /// Sends again what a server refused because the key is another's; what it has done of the request is kept.
    ///
    /// - Returns: whether the request is in hand.
    private func redirected(
        _ request: PendingRedisRequest, _ replies: RedisReplyCursor, from node: RedisAddress
    ) -> Bool {
        let count = request.batch.replies
        // Of one that is indivisible the other replies are from the wrong server, too.
        let isWhole = count == 1 || request.batch.isIndivisible
        let parts = isWhole ? [replies] : (0..<count).map { replies.alone($0, of: count) }
        if parts.contains(where: { $0.refusal?.saysThatMapIsOld == true }) { pause.interrupt() }
        guard !request.isAsked, parts.contains(where: { $0.refusal?.isRedirection == true }),
            let request = request.redirected(within: Self.redirectionTimeout)
        else { return false }
        guard !isWhole else {
            redirect(request, by: replies.refusalMessage, from: node)
            return true
        }
        let gathering = GatheredReplies(count: count, request.completion)
        for (number, reply) in parts.enumerated() {
            var part = request.part(number) { gathering.add($0, number) }
            if reply.refusal?.isRedirection == true {
                redirect(part, by: reply.refusalMessage, from: node)
            } else if reply.refusal == .refused(code: "NOSCRIPT"), let whole = part.batch.whole {
                part.batch = whole
                connections[node].send(part)
            } else {
                gathering.add(.reply(reply), number)
            }
        }
        return true
    }

    private func redirect(_ request: PendingRedisRequest, by message: String?, from node: RedisAddress) {
        guard let redirection = message.flatMap({ ClusterRedirection($0, from: node) }) else {
            // TRYAGAIN: keys of one request are on two servers.
            return after(request.redirectionPause, request) { [weak self] in self?.send(request) }
        }
        switch redirection.kind {
        case .moved:
            let target = redirection.address
            guard request.redirections > 1 else { return connections.redirectionTarget(target).send(request) }
            // Two servers that each name the other are of two minds for a moment.
            after(request.redirectionPause, request) { [weak self] in
                self?.connections.redirectionTarget(target).send(request)
            }
        case .ask: ask(request, redirection.address)
        }
    }

    private func after(_ pause: Duration, _ request: PendingRedisRequest, _ body: @escaping @LoopActor () -> Void) {
        EventPoller.shared.schedule(after: pause) { [weak self] in
            if let self, !isClosed { body() } else { request.completion(.failure(.unavailable)) }
        }
    }

    /// Sends a request to the server that its slot is moving to.
    private func ask(_ request: PendingRedisRequest, _ address: RedisAddress) {
        // That server may not know the script: it has had none of the slot's requests yet.
        let batch = (request.batch.whole ?? request.batch).after(Self.asking)
        let asked = request.asked(batch) { [weak self] response in
            guard case .reply(let replies) = response else { return request.completion(response) }
            let own = replies.withoutFirst(of: batch.replies)
            if own.refusal?.isRedirection == true, self?.redirected(request, own, from: address) == true { return }
            request.completion(.reply(own))
        }
        connections.redirectionTarget(address).send(asked)
    }

    // MARK: The map

    /// Reads the map until this is closed: at once when there is news, and from time to time.
    private func follow() async {
        var least = Self.leastIntervals.first
        while !isClosed {
            let isWhole = await refresh()
            settled()
            let interval = isWhole ? options.checkInterval : options.retryInterval
            try? await LoopActor.sleep(for: least)
            let isNews = await pause.wait(interval * Double.random(in: 0.5...1))
            least = Self.leastInterval(after: least, isNews: isNews)
        }
    }

    /// - Parameter isNews: whether something has happened since the last look.
    nonisolated static func leastInterval(after last: Duration, isNews: Bool) -> Duration {
        isNews ? min(last * 2, leastIntervals.last) : leastIntervals.first
    }

    /// - Returns: whether each slot has a server that requests can go to.
    private func refresh() async -> Bool {
        let known = servers.map { ($0.address, $0.connection) }
        let maps = await nodes.maps(
            ready: known.filter(\.1.isReady), others: known.filter { !$0.1.isReady }.map(\.0))
        guard !isClosed else { return false }
        guard let map = SlotMap.mostAgreed(maps.compactMap { try? $0.get() }) else {
            let errors = maps.compactMap { if case .failure(let error) = $0 { error } else { nil } }
            reason = errors.first(where: \.isExplained) ?? .unavailable
            return false
        }
        adopt(map)
        return map.isServing && map.isWhole && primaries.allSatisfy(\.isReady)
    }

    private func adopt(_ new: SlotMap) {
        let former = map
        map = new
        primaries = new.primaries.map { connections[$0] }
        if former?.hasSameOwners(as: new) != true { mapNumber += 1 }
        connections.keep(new.primaries) { [weak self] request in
            if let self { send(request) } else { request.completion(.failure(.unavailable)) }
        }
        for request in waiting.take() { send(request) }
        if new.primaries != former?.primaries { onMap?(new.primaries) }
    }

    // MARK: The beginning and the end

    package func settle(within limit: Duration) async {
        guard !isClosed, map == nil || !primaries.allSatisfy(\.isReady) else { return }
        await withCheckedContinuation { settling in
            self.settling = settling
            EventPoller.shared.schedule(after: limit) { [weak self] in self?.settled() }
        }
        for primary in primaries { await primary.settle(within: limit) }
    }

    package func close() {
        isClosed = true
        reason = .unavailable
        connections.close()
        nodes.close()
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
}
