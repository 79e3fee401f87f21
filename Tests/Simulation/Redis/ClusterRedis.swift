import CloakroomKitTestSupport
import CloakroomLoop

/// Three primaries with two replicas each, which share the slots: who has which slot by their own word, failovers, and slots that
/// move with their keys.
///
/// Source: redis.io, "Redis cluster specification". Two sides of a partition never both have a primary that takes writes for
/// longer than the node timeout of a second.
@LoopActor
final class ClusterRedis: RedisDeployment {
    let nodes: [RedisNode]
    var servers: [String] { nodes.map(\.name) }
    var stores: [RedisData] { nodes.map(\.data) }
    var isUp: Bool { map.primaries.allSatisfy { isUsable($0) } }
    private let ports: RedisPorts
    private let oracle: Oracle
    private var random: SeededGenerator
    /// As all nodes will know it.
    private var map: ClusterMap
    private var known: [ClusterMap]
    private var migration: SlotMigration?
    /// `cluster-require-full-coverage`
    private let needsAllSlots: Bool
    private var isMinding = false
    private var since: [String: UInt64] = [:]

    init(_ ports: RedisPorts, _ oracle: Oracle, seed: UInt64) {
        self.ports = ports
        self.oracle = oracle
        random = SeededGenerator(seed: seed)
        needsAllSlots = Bool.random(using: &random)
        let isOld = Bool.random(using: &random)
        nodes = (0..<9).map { RedisNode("redis-\($0 + 1)", number: $0 + 1, in: ports, oracle, isOld: isOld) }
        map = ClusterMap(primaries: [0, 1, 2])
        known = Array(repeating: map, count: nodes.count)
        for (place, node) in nodes.enumerated() {
            if place >= 3 { node.follow(nodes[place % 3], after: 0) }
            node.redirection = { [unowned self] in redirection(of: $0, $1, at: place) }
        }
    }

    func settings(for client: String) -> String {
        for node in nodes { ports.listen(for: client, node, number: node.number, port: 6379) }
        let addresses = nodes[..<4].map { "\"\(ports.host($0.number, for: client)):6379\"" }
        return "cluster: [\(addresses.joined(separator: ", "))]"
    }

    func forget(_ client: String) { ports.forget(client) }

    func calm() {
        for node in nodes where !node.isUp { node.start(losingData: false) }
        mind()
    }

    // MARK: Requests

    /// What a node says of a request that is not for its own data.
    private func redirection(of words: [[UInt8]], _ connection: RedisServerConnection, at place: Int) -> Lua.Value? {
        let texts = words.prefix(2).map { String(decoding: $0, as: UTF8.self).uppercased() }
        let own = known[place]
        switch texts[0] {
        case "CLUSTER" where texts[1] == "SLOTS": return slots(own, for: connection.client)
        case "CLUSTER":
            let state = isServing(place) ? "ok" : "fail"
            return .text(Array("cluster_state:\(state)\r\ncluster_current_epoch:\(own.epoch)\r\n".utf8))
        case "ASKING":
            connection.isAsking = true
            return .status("OK")
        default: break
        }
        let isAsking = connection.isAsking
        connection.isAsking = false
        let keys = RedisData.keys(of: words)
        guard let slot = keys.first.map(ClusterMap.slot) else { return nil }
        guard keys.allSatisfy({ ClusterMap.slot($0) == slot }) else {
            return .error("CROSSSLOT Keys in request don't hash to the same slot")
        }
        guard isServing(place) else {
            Trace.reached("CLUSTERDOWN")
            return .error("CLUSTERDOWN The cluster is down")
        }
        let owner = own.primary(of: slot)
        if let migration, migration.slots.contains(slot) {
            let missing = keys.count { nodes[place].data.entries[$0] == nil }
            if place == migration.target, isAsking { return missing == 0 || missing == keys.count ? nil : Self.again }
            if place == migration.source, owner == place, missing > 0 {
                guard missing == keys.count else { return Self.again }
                Trace.reached("ASK")
                return .error("ASK \(slot) \(host(migration.target, connection.client)):6379")
            }
        }
        guard owner != place || nodes[place].leader != nil else { return nil }
        Trace.reached("MOVED")
        return .error("MOVED \(slot) \(host(owner, connection.client)):6379")
    }

    private static let again = Lua.Value.error("TRYAGAIN Multiple keys request during rehashing of slot")

    private func host(_ place: Int, _ client: String) -> String { ports.host(nodes[place].number, for: client) }

    private func slots(_ map: ClusterMap, for client: String) -> Lua.Value {
        .array(
            map.ranges.map { range in
                let place = map.primaries[range.shard]
                let server: [Lua.Value] = [
                    .text(Array(host(place, client).utf8)), .integer(6379), .text(Array(nodes[place].name.utf8)),
                ]
                return .array([.integer(range.slots.lowerBound), .integer(range.slots.upperBound), .array(server)])
            })
    }

    /// Whether a node thinks that it may respond: it knows of most primaries, and each slot has one if it has to.
    private func isServing(_ place: Int) -> Bool {
        let others = map.primaries.filter { $0 != place }
        let isCutOff = others.count { isSeparated(place, $0, atLeast: 1) } * 2 > map.primaries.count
        let hasAll = map.primaries.allSatisfy { primary in since["down \(primary)"].map { age($0) < 1 } ?? true }
        return !isCutOff && (hasAll || !needsAllSlots)
    }

    private func isSeparated(_ one: Int, _ other: Int, atLeast seconds: Double = 0) -> Bool {
        ports.network.separation(nodes[one].name, nodes[other].name).map { $0 >= seconds } ?? false
    }

    // MARK: Faults

    func strike() async {
        let primary = map.primaries.randomElement(using: &random)!
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: await crash(primary)
        case 2: await crash(nodes.indices.randomElement(using: &random)!)
        case 3, 4: await separate(primary)
        case 5: await replaceOrderly(primary)
        default: await moveSlots()
        }
    }

    private func crash(_ place: Int) async {
        let isPrimary = map.primaries.contains(place)
        nodes[place].crash()
        Trace.reached(isPrimary ? "a master crashed" : "a replica crashed")
        mind()
        await pause(random.seconds(in: 0.2...200))
        let losesData = Int.random(in: 0..<4, using: &random) == 0
        if losesData, map.primaries.contains(place) {
            oracle.dataWasLost()
            Trace.reached("a master came back without its data")
        }
        if !nodes[place].isUp { nodes[place].start(losingData: losesData) }
        mind()
    }

    /// From all other nodes; some clients still reach it.
    private func separate(_ place: Int) async {
        let seconds = random.seconds(in: 1...60)
        for other in nodes.indices where other != place {
            ports.network.separate(nodes[place].name, nodes[other].name, for: seconds)
        }
        Trace.reached("a master was cut off")
        mind()
        await pause(seconds)
        mind()
    }

    /// `CLUSTER FAILOVER`: the primary takes no writes until its replica has all.
    private func replaceOrderly(_ primary: Int) async {
        guard let best = candidates(for: primary).first(where: { hasAll($0, of: primary) }) else { return }
        Trace.reached("manual failover")
        replace(primary, by: best)
        mind()
    }

    private func hasAll(_ place: Int, of primary: Int) -> Bool {
        nodes[primary].link(to: nodes[place])?.acknowledged == nodes[primary].offset
    }

    /// Slots with their keys, one key after the other, from one primary to another.
    private func moveSlots() async {
        let source = Int.random(in: 0..<3, using: &random)
        let target = (source + Int.random(in: 1...2, using: &random)) % 3
        // As an operator moves them, those of a range: each range more is an entry more in every node's map.
        let all = map.ranges.filter { $0.shard == source }.map(\.slots).max { $0.count < $1.count }
        let slots = Set((all ?? 0...0).suffix((all?.count ?? 0) * Int.random(in: 1...3, using: &random) / 4))
        let (from, to) = (map.primaries[source], map.primaries[target])
        guard !slots.isEmpty, isUsable(from), isUsable(to) else { return }
        Trace.note("cluster", "moves \(slots.count) slots from \(nodes[from].name) to \(nodes[to].name)")
        Trace.reached("slots with keys were moved")
        migration = SlotMigration(slots: slots, source: from, target: to)
        for round in 0..<10 {
            let keys = nodes[from].data.entries.keys.filter { slots.contains(ClusterMap.slot($0)) }
                .sorted { $0.lexicographicallyPrecedes($1) }
            // Some stay for a while, so that requests come for both kinds.
            for key in keys where round == 9 || Bool.random(using: &random) { nodes[from].migrate(key, to: nodes[to]) }
            if round < 9 { await front(within: random.seconds(in: 1...200)) }
        }
        migration = nil
        map.move(slots, to: target)
        known[to] = map
        known[from] = map
        mind()
    }

    private func front(within seconds: Double) async { await oracle.world?.front.arrival(within: seconds) }

    private func isUsable(_ place: Int) -> Bool { nodes[place].isUp && sees(place) }

    // MARK: What the nodes do among themselves

    private func pause(_ seconds: Double) async { try? await LoopActor.sleep(for: .milliseconds(Int(seconds * 1000))) }

    private func age(_ instant: UInt64) -> Double { Double(VirtualTime.now - instant) / 1e9 }

    /// For as long as something is amiss, or not all know it.
    private func mind() {
        guard !isMinding else { return }
        isMinding = true
        LoopActor.spawn { [self] in
            while !isSettled {
                for node in nodes { ports.noteLoss(of: node) }
                await pause(Double.random(in: 0.2...0.8, using: &random))
                for primary in map.primaries { look(at: primary) }
                for place in nodes.indices where sees(place) { tell(place) }
            }
            isMinding = false
        }
    }

    private func look(at primary: Int) {
        let key = "down \(primary)"
        since[key] = sees(primary) ? nil : since[key] ?? VirtualTime.now
        // `cluster-node-timeout` 1000, then the replicas' delay.
        guard let began = since[key], age(began) >= Double.random(in: 1.5...2.5, using: &random) else { return }
        let best = candidates(for: primary).max { rank($0, of: primary) < rank($1, of: primary) }
        guard let best else { return }
        since[key] = nil
        Trace.reached("failover")
        if oracle.isAnyRequestUnderWay { Trace.reached("failover during a request") }
        if !hasAll(best, of: primary) { Trace.reached("acknowledged writes were lost in a failover") }
        replace(primary, by: best)
    }

    /// What a node learns of the others, sooner or later.
    private func tell(_ place: Int) {
        if known[place].version < map.version, Bool.random(using: &random) { known[place] = map }
        guard known[place].version == map.version, !map.primaries.contains(place) else { return }
        let leader = nodes[map.primaries[place % 3]]
        if nodes[place].leader !== leader {
            nodes[place].follow(leader, after: Double.random(in: 0.05...2, using: &random))
        }
    }

    private func replace(_ primary: Int, by best: Int) {
        Trace.note("cluster", "\(nodes[primary].name) is replaced by \(nodes[best].name)")
        oracle.replaced(nodes[primary].data, by: nodes[best].data)
        nodes[best].promote()
        nodes[primary].wasReplaced()
        map.replace(primary, by: best)
        known[best] = map
    }

    private func candidates(for primary: Int) -> [Int] {
        nodes.indices.filter { nodes[$0].leader === nodes[primary] && sees($0) }
    }

    private func rank(_ place: Int, of primary: Int) -> Int {
        nodes[primary].link(to: nodes[place])?.acknowledged ?? -1
    }

    /// Whether any primary of another shard does: with it and its own replicas there is a majority.
    private func sees(_ place: Int) -> Bool {
        nodes[place].isUp
            && map.primaries.contains {
                $0 != place && $0 % 3 != place % 3 && nodes[$0].isUp && !isSeparated($0, place)
            }
    }

    private var isSettled: Bool {
        nodes.indices.allSatisfy { place in
            guard sees(place), known[place].version == map.version else { return false }
            let primary = map.primaries[place % 3]
            return place == primary ? nodes[place].leader == nil : nodes[place].leader === nodes[primary]
        }
    }
}
