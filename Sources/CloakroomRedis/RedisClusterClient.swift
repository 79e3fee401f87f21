package import CloakroomLoop

/// The way to a Redis Cluster: a ``RedisConnection`` to each primary, and the map that says which of them has a key.
///
/// The map is read anew, as a whole, when a server redirects, refuses, or is lost, and from time to time. Several nodes are
/// asked for it, because one that was cut off from the others does not know of a failover (redis.io, "Redis cluster
/// specification").
///
/// A request whose keys lie on several primaries goes to all of them in the same turn of the loop, and is answered when
/// each has; it fails with the first that fails.
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
        /// How long a node may take to give its map.
        package var mapTimeout: Duration = .milliseconds(250)

        package init(nodes: [RedisAddress], server: RedisConnection.Options) {
            self.nodes = nodes
            self.server = server
        }
    }

    /// How often a request is sent elsewhere, before it gets the refusal.
    private static let maximumRedirections = 5
    /// How many nodes are asked for their map at once.
    private static let nodesAsked = 5
    /// The least time between two looks: while slots move, every request may be redirected.
    private static let leastInterval: Duration = .milliseconds(20)
    private static let asking = RedisCommand(["ASKING"])

    private let options: Options
    private var map: SlotMap?
    /// In the order of the map's.
    private var primaries: [RedisConnection] = []
    /// Those, and servers that requests were redirected to since the map was read.
    private var connections: [RedisAddress: RedisConnection] = [:]
    private var reason = RedisError.unavailable
    private var waiting: WaitingRequests
    private let pause = InterruptiblePause()
    private var isClosed = false
    private var settling: CheckedContinuation<Void, Never>?
    private let request = RedisRequest(
        RedisCommand(["CLUSTER", "SLOTS"]), RedisCommand(["CLUSTER", "INFO"]), mayRepeat: true)

    package var onRepeat: (@LoopActor () -> Void)?
    /// Called when the map is another than before.
    package var onMap: (@LoopActor ([RedisAddress]) -> Void)?

    package init(options: Options) {
        self.options = options
        waiting = WaitingRequests(limit: options.server.maximumPending)
        EventPoller.shared.schedule(after: options.server.timeout) { [weak self] in self?.stopWaiting() }
        LoopActor.spawn { await self.follow() }
    }

    // MARK: Requests

    /// Whether some requests get replies: one primary that is lost does not take the keys of the others with it.
    package var isReady: Bool { primaries.contains { $0.isReady } }

    package var refusal: RedisError? {
        guard !isReady else { return nil }
        if let refusal = primaries.lazy.compactMap(\.refusal).first { return refusal }
        guard map == nil, case .refused = reason else { return nil }
        return reason
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
    package var servers: [(address: RedisAddress, connection: any RedisClient)] {
        zip(map?.primaries ?? [], primaries).map { ($0, $1) }
    }

    private var anyPrimary: RedisConnection { primaries.first { $0.isReady } ?? primaries[0] }

    /// Sends each part to the primary of its key.
    private func scatter(_ request: PendingRedisRequest) {
        let gathering = GatheredReplies(count: request.batch.replies, request.completion)
        for number in 0..<request.batch.replies {
            send(
                PendingRedisRequest(request.batch.part(number), isRepeat: request.isRepeat) { response in
                    gathering.add(response, number)
                })
        }
    }

    /// Through the keys of one primary after the other; the cursor says which, and how far.
    package func scan(
        from cursor: String, matching pattern: String
    ) async throws(RedisError) -> (keys: [String], next: String) {
        let parts = cursor.split(separator: ":").map(String.init)
        let number = parts.count == 2 ? Int(parts[0]) ?? 0 : 0
        guard primaries.indices.contains(number) else { throw reason }
        let (keys, next) = try await primaries[number].scan(from: parts.last ?? "0", matching: pattern)
        if next != "0" { return (keys, "\(number):\(next)") }
        return (keys, number + 1 < primaries.count ? "\(number + 1):0" : "0")
    }

    // MARK: Redirections

    /// Sends again what a server refused because the key is another's; what it has done of the request is kept.
    ///
    /// - Returns: whether the request is in hand.
    private func redirected(
        _ request: PendingRedisRequest, _ replies: RedisReplyCursor, from node: RedisAddress
    ) -> Bool {
        pause.interrupt()
        guard !request.batch.isIndivisible else { return redirectedWhole(request, replies, from: node) }
        let count = request.batch.replies
        let parts = (0..<count).map { replies.alone($0, of: count) }
        guard request.redirections < Self.maximumRedirections,
            parts.contains(where: { $0.refusal?.isRedirection == true })
        else { return false }
        let gathering = GatheredReplies(count: parts.count, request.completion)
        for (number, reply) in parts.enumerated() {
            var part = PendingRedisRequest(
                request.batch.part(number), isRepeat: request.isRepeat, redirections: request.redirections + 1
            ) { gathering.add($0, number) }
            if let message = reply.refusalMessage, RedisError(refusal: message).isRedirection {
                redirect(part, by: ClusterRedirection(message, from: node))
            } else if reply.refusal == .refused(code: "NOSCRIPT"), let whole = part.batch.whole {
                part.batch = whole
                connection(to: node).send(part)
            } else {
                gathering.add(.reply(reply), number)
            }
        }
        return true
    }

    /// The reply to a later part is from the wrong server, too.
    private func redirectedWhole(
        _ request: PendingRedisRequest, _ replies: RedisReplyCursor, from node: RedisAddress
    ) -> Bool {
        guard request.redirections < Self.maximumRedirections, let message = replies.refusalMessage,
            RedisError(refusal: message).isRedirection
        else { return false }
        redirect(
            PendingRedisRequest(
                request.batch, isRepeat: request.isRepeat, redirections: request.redirections + 1,
                completion: request.completion), by: ClusterRedirection(message, from: node))
        return true
    }

    /// - Parameter redirection: `nil` while keys of one request are on two servers (`TRYAGAIN`).
    private func redirect(_ part: PendingRedisRequest, by redirection: ClusterRedirection?) {
        switch redirection?.kind {
        case .moved?: if let redirection { connection(to: redirection.address).send(part) }
        case .ask?:
            guard let redirection else { return }
            // The server may not know the script: it has had none of the slot's requests yet.
            let asked = (part.batch.whole ?? part.batch).after(Self.asking)
            connection(to: redirection.address).send(
                PendingRedisRequest(asked, redirections: part.redirections) { response in
                    guard case .reply(let replies) = response else { return part.completion(response) }
                    part.completion(.reply(replies.withoutFirst(of: asked.replies)))
                })
        case nil:
            EventPoller.shared.schedule(after: .milliseconds(10)) { [weak self] in
                if let self { send(part) } else { part.completion(.failure(.unavailable)) }
            }
        }
    }

    private func connection(to address: RedisAddress) -> RedisConnection {
        if let known = connections[address] { return known }
        var server = options.server
        server.address = address
        let new = RedisConnection(options: server)
        new.onRepeat = { [weak self] in self?.onRepeat?() }
        new.onLoss = { [weak self] _ in self?.pause.interrupt() }
        new.onReady = { [weak self] in self?.pause.interrupt() }
        new.onRedirection = { [weak self] in self?.redirected($0, $1, from: address) ?? false }
        connections[address] = new
        return new
    }

    // MARK: The map

    /// Reads the map until this is closed: at once when there is news, and from time to time.
    private func follow() async {
        while !isClosed {
            let isWhole = await refresh()
            settled()
            let interval = isWhole ? options.checkInterval : options.retryInterval
            try? await LoopActor.sleep(for: Self.leastInterval)
            await pause.wait(interval * Double.random(in: 0.5...1))
        }
    }

    /// - Returns: whether each slot has a server that requests can go to.
    private func refresh() async -> Bool {
        let maps = await maps()
        guard !isClosed else { return false }
        let best = maps.compactMap { try? $0.get() }
            .max { ($0.isServing ? 1 : 0, $0.epoch) < ($1.isServing ? 1 : 0, $1.epoch) }
        guard let best else {
            for case .failure(let error) in maps { if case .refused = error { reason = error } }
            return false
        }
        adopt(best)
        return best.isServing && primaries.allSatisfy(\.isReady)
    }

    private func adopt(_ new: SlotMap) {
        let isOther = new.primaries != map?.primaries
        map = new
        primaries = new.primaries.map { connection(to: $0) }
        let former = connections.filter { !new.primaries.contains($0.key) }
        for (address, connection) in former {
            connections[address] = nil
            connection.close { [weak self] request in
                if let self { send(request) } else { request.completion(.failure(.unavailable)) }
            }
        }
        for request in waiting.take() { send(request) }
        if isOther { onMap?(new.primaries) }
    }

    /// Of some nodes, all asked at once.
    private func maps() async -> [Result<SlotMap, RedisError>] {
        let known = (map?.primaries ?? []).shuffled() + options.nodes.shuffled()
        var asked: [RedisAddress] = []
        for address in known where !asked.contains(address) && asked.count < Self.nodesAsked { asked.append(address) }
        var extra: [RedisConnection] = []
        let servers = asked.map { address in
            if let connection = connections[address] { return (address, connection) }
            var server = options.server
            server.address = address
            server.keepsSpare = false
            let connection = RedisConnection(options: server)
            extra.append(connection)
            return (address, connection)
        }
        defer { for connection in extra { connection.close() } }
        return await withCheckedContinuation { continuation in
            let poll = MapPoll(nodes: servers.count) { continuation.resume(returning: $0) }
            for (address, connection) in servers {
                connection.send(request) { response in poll.add(Self.map(response, from: address)) }
            }
            EventPoller.shared.schedule(after: options.mapTimeout) { poll.finish() }
        }
    }

    private static func map(_ response: RedisResponse, from node: RedisAddress) -> Result<SlotMap, RedisError> {
        guard case .reply(var cursor) = response else {
            if case .failure(let error) = response { return .failure(error) }
            return .failure(.unavailable)
        }
        if let refusal = cursor.refusal {
            // "This instance has cluster support disabled" has no word of its own.
            return .failure(refusal == .refused(code: "ERR") ? .refused(code: "NOCLUSTER") : refusal)
        }
        let slots = RedisReply(&cursor)
        cursor.goTo(reply: 1)
        return SlotMap(slots: slots, info: RedisReply(&cursor), from: node).map { .success($0) }
            ?? .failure(.refused(code: "MALFORMED"))
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
        for connection in connections.values { connection.close() }
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

/// The replies to the parts of a request, until all are there.
@LoopActor
private final class GatheredReplies {
    private var replies: [RedisReplyCursor?]
    private var missing: Int
    private var completion: (@LoopActor (RedisResponse) -> Void)?

    init(count: Int, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        replies = Array(repeating: nil, count: count)
        missing = count
        self.completion = completion
    }

    func add(_ response: RedisResponse, _ number: Int) {
        guard case .reply(let reply) = response else { return completion.take()?(response) ?? () }
        replies[number] = reply
        missing -= 1
        if missing == 0 { completion.take()?(.reply(RedisReplyCursor(joining: replies.compactMap { $0 }))) }
    }
}

/// The maps of one round.
@LoopActor
private final class MapPoll {
    private let nodes: Int
    private var maps: [Result<SlotMap, RedisError>] = []
    private var completion: (@LoopActor ([Result<SlotMap, RedisError>]) -> Void)?

    init(nodes: Int, _ completion: @escaping @LoopActor ([Result<SlotMap, RedisError>]) -> Void) {
        self.nodes = nodes
        self.completion = completion
    }

    func add(_ map: Result<SlotMap, RedisError>) {
        maps.append(map)
        if maps.count == nodes { finish() }
    }

    func finish() { completion.take()?(maps) }
}
