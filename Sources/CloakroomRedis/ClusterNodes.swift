import CloakroomLoop

/// The nodes of a cluster as those that tell who has which slot.
@LoopActor
final class ClusterNodes {
    /// How many are asked at once, and how many of them are primaries that respond: the rest is for the configured nodes,
    /// of which some may be where no primary was before.
    private nonisolated static let count = (asked: 5, primaries: 3)
    /// How long to wait for other maps after the first.
    private static let delay: Duration = .milliseconds(100)

    /// Whom to ask first; the cluster names the others.
    private let configured: [RedisAddress]
    let options: RedisConnection.Options
    /// To those that no request goes to. They are kept as long as each round asks them: to connect may take longer than one.
    private var connections: [RedisAddress: RedisConnection] = [:]
    private let request = RedisRequest(
        RedisCommand(["CLUSTER", "SLOTS"]), RedisCommand(["CLUSTER", "INFO"]), mayRepeat: true)

    /// - Parameter options: of connections to primaries.
    init(configured: [RedisAddress], options: RedisConnection.Options) {
        self.configured = configured
        var options = options
        options.keepsSpare = false
        options.timeout = max(options.timeout, .milliseconds(500))
        self.options = options
    }

    /// Asks some nodes for their map, all at once.
    ///
    /// - Parameters:
    ///   - ready: primaries that respond.
    ///   - others: primaries that do not.
    func maps(
        ready: [(address: RedisAddress, connection: RedisConnection)], others: [RedisAddress]
    ) async -> [Result<SlotMap, RedisError>] {
        let asked = Self.asked(ready: ready.map(\.address), others: others, configured: configured)
        let known = Dictionary(ready.map { ($0.address, $0.connection) }, uniquingKeysWith: { first, _ in first })
        close { !asked.contains($0) || known[$0] != nil }
        let round = MapRound(nodes: asked.count, delay: Self.delay)
        return await withCheckedContinuation { continuation in
            round.completion = { continuation.resume(returning: $0) }
            for address in asked {
                (known[address] ?? connection(to: address)).send(request) { response in
                    round.add(Self.map(response, from: address))
                }
            }
            EventPoller.shared.schedule(after: options.timeout) { round.finish() }
        }
    }

    nonisolated static func asked(
        ready: [RedisAddress], others: [RedisAddress], configured: [RedisAddress]
    ) -> [RedisAddress] {
        let ready = ready.shuffled()
        let first = ready.prefix(count.primaries)
        let order = first + configured.shuffled() + ready.dropFirst(first.count) + others.shuffled()
        var asked: [RedisAddress] = []
        for address in order where !asked.contains(address) && asked.count < count.asked { asked.append(address) }
        return asked
    }

    /// Closes the connections that are only for maps.
    func close(where isOver: (RedisAddress) -> Bool = { _ in true }) {
        for (address, connection) in connections where isOver(address) {
            connections[address] = nil
            connection.close()
        }
    }

    private func connection(to address: RedisAddress) -> RedisConnection {
        if let known = connections[address] { return known }
        var options = options
        options.address = address
        let new = RedisConnection(options: options)
        connections[address] = new
        return new
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
        if let refusal = cursor.refusal { return .failure(refusal) }
        return SlotMap(slots: slots, info: RedisReply(&cursor), from: node).map { .success($0) }
            ?? .failure(.refused(code: "MALFORMED"))
    }
}

/// The maps of one round.
@LoopActor
private final class MapRound {
    private let nodes: Int
    private let delay: Duration
    private var maps: [Result<SlotMap, RedisError>] = []
    private var hasMap = false
    var completion: (@LoopActor ([Result<SlotMap, RedisError>]) -> Void)?

    init(nodes: Int, delay: Duration) {
        self.nodes = nodes
        self.delay = delay
    }

    func add(_ map: Result<SlotMap, RedisError>) {
        maps.append(map)
        if maps.count == nodes { return finish() }
        guard !hasMap, case .success = map else { return }
        hasMap = true
        EventPoller.shared.schedule(after: delay) { self.finish() }
    }

    func finish() { completion.take()?(maps) }
}
