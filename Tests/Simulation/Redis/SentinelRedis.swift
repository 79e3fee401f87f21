import CloakroomKitTestSupport
import CloakroomLoop

/// A master with two replicas, and three sentinels that put one of these in its place when it fails.
///
/// Source: redis.io, "High availability with Redis Sentinel"; what was measured on Redis 7.0.15 with real processes: the
/// elected sentinel publishes `+promoted-slave` a second or more before `+switch-master`, the others learn of it seconds later,
/// and a former master is one by its own word for about ten seconds.
@LoopActor
final class SentinelRedis: RedisDeployment {
    static let master = "main"
    let nodes: [RedisNode]
    var servers: [String] { nodes.map(\.name) }
    var stores: [RedisData] { nodes.map(\.data) }
    var isUp: Bool { !isDown(master) && master.leader == nil }
    private let sentinels: [RedisSentinel]
    private let ports: RedisPorts
    private let oracle: Oracle
    private var random: SeededGenerator
    /// Of the last failover.
    private var master: RedisNode
    private var epoch = 1
    private var isMinding = false
    private var isFailingOver = false
    /// Whether it is too late to give the failover up.
    private var isPromoting = false
    /// Since when each server has not been what it should be, in the eyes of the sentinels.
    private var since: [String: UInt64] = [:]

    init(_ ports: RedisPorts, _ oracle: Oracle, seed: UInt64) {
        self.ports = ports
        self.oracle = oracle
        random = SeededGenerator(seed: seed)
        let isOld = Bool.random(using: &random)
        let nodes = (1...3).map { RedisNode("redis-\($0)", number: $0, in: ports, oracle, isOld: isOld) }
        self.nodes = nodes
        master = nodes[0]
        sentinels = (1...3).map { RedisSentinel("sentinel-\($0)", number: 100 + $0, master: nodes[0], in: ports) }
        for replica in nodes[1...] { replica.follow(nodes[0], after: 0) }
    }

    func settings(for client: String) -> String {
        for node in nodes { ports.listen(for: client, node, number: node.number, port: 6379) }
        for sentinel in sentinels { ports.listen(for: client, sentinel, number: sentinel.number, port: 26379) }
        let addresses = sentinels.map { "\"\(ports.host($0.number, for: client)):26379\"" }
        return "sentinels: [\(addresses.joined(separator: ", "))], master: \"\(Self.master)\""
    }

    func forget(_ client: String) { ports.forget(client) }

    func calm() {
        for node in nodes where !node.isUp { node.start(losingData: false) }
        for sentinel in sentinels {
            sentinel.isUp = true
            sentinel.isStale = false
            sentinel.learn(master, epoch)
        }
        mind()
    }

    // MARK: Faults

    func strike() async {
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: await crash(master, for: random.seconds(in: 0.2...200))
        case 2: await crash(nodes.randomElement(using: &random)!, for: random.seconds(in: 0.2...200))
        case 3, 4: await separateMaster()
        case 5:
            Trace.note("sentinels", "are told to fail over")
            await failOver(isManual: true)
            mind()
        case 6: await silenceSentinels()
        default: await separateReplica()
        }
    }

    private func crash(_ node: RedisNode, for seconds: Double) async {
        node.crash()
        Trace.reached(node === master ? "a master crashed" : "a replica crashed")
        mind()
        await pause(seconds)
        // A server without persistence that comes back before it was replaced has nothing, and so have its replicas then. A
        // failover that has begun, but promotes none yet, is given up for it.
        let losesData = Int.random(in: 0..<4, using: &random) == 0
        if losesData, node === master, !isPromoting {
            oracle.dataWasLost()
            Trace.reached("a master came back without its data")
        }
        if !node.isUp { node.start(losingData: losesData) }
        mind()
    }

    /// From its replicas and from the sentinels; some clients still reach it.
    private func separateMaster() async {
        let (lost, seconds) = (master, random.seconds(in: 1...60))
        for name in (nodes.filter { $0 !== lost }.map(\.name) + sentinels.map(\.name)) {
            ports.network.separate(lost.name, name, for: seconds)
        }
        Trace.reached("a master was cut off")
        mind()
        await pause(seconds)
        mind()
    }

    private func separateReplica() async {
        guard let replica = nodes.filter({ $0 !== master }).randomElement(using: &random) else { return }
        ports.network.separate(replica.name, master.name, for: random.seconds(in: 1...120))
        Trace.reached("a replica was cut off")
    }

    /// One that hears nothing of what the others do, or one that is down, while the master fails.
    private func silenceSentinels() async {
        guard let sentinel = sentinels.randomElement(using: &random) else { return }
        if Bool.random(using: &random) {
            sentinel.isUp = false
            ports.drop(sentinel)
            Trace.note(sentinel.name, "is down")
        } else {
            sentinel.isStale = true
            Trace.note(sentinel.name, "hears nothing of the others")
        }
        Trace.reached("a sentinel was stale or down")
        await crash(master, for: random.seconds(in: 2...100))
        await pause(random.seconds(in: 1...300))
        sentinel.isUp = true
        sentinel.isStale = false
        sentinel.learn(master, epoch)
    }

    // MARK: The sentinels' work

    private func pause(_ seconds: Double) async { try? await LoopActor.sleep(for: .milliseconds(Int(seconds * 1000))) }

    /// Looks at the servers as the sentinels do, for as long as something is amiss.
    private func mind() {
        guard !isMinding else { return }
        isMinding = true
        LoopActor.spawn { [self] in
            while !isSettled {
                for node in nodes { ports.noteLoss(of: node) }
                await pause(Double.random(in: 0.3...1, using: &random))
                // `down-after-milliseconds` 1000
                if lasts("down", isDown(master)), !isFailingOver, since["down"].map({ age($0) >= 1 }) == true {
                    await failOver(isManual: false)
                }
                for node in nodes where node !== master {
                    let isStranger = node.leader !== master && sees(node) && !isFailingOver
                    if lasts(node.name, isStranger), since[node.name].map({ age($0) >= 8 }) == true {
                        node.follow(master, after: Double.random(in: 0.1...2, using: &random))
                        since[node.name] = nil
                    }
                }
            }
            isMinding = false
        }
    }

    private func lasts(_ what: String, _ condition: Bool) -> Bool {
        since[what] = condition ? since[what] ?? VirtualTime.now : nil
        return condition
    }

    private func age(_ instant: UInt64) -> Double { Double(VirtualTime.now - instant) / 1e9 }

    private var isSettled: Bool {
        !isFailingOver && !isDown(master) && nodes.allSatisfy { $0 === master || ($0.isUp && $0.leader === master) }
            && master.leader == nil
    }

    private func isDown(_ node: RedisNode) -> Bool { !sees(node) }

    /// Whether more than half of the sentinels do.
    private func sees(_ node: RedisNode) -> Bool {
        node.isUp && sentinels.count { $0.isUp && ports.network.separation($0.name, node.name) == nil } >= 2
    }

    private func failOver(isManual: Bool) async {
        let former = master
        let candidates = nodes.filter { $0 !== former && sees($0) && $0.leader === former }
        // The one that has most, as far as they say.
        let best = candidates.max { rank($0, of: former) < rank($1, of: former) }
        guard !isFailingOver, let best,
            let leader = sentinels.filter({ $0.isUp && !$0.isStale }).randomElement(using: &random)
        else { return }
        isFailingOver = true
        defer { isFailingOver = false }
        await pause(Double.random(in: 0.05...1, using: &random))
        guard isManual || isDown(former), sees(best) else { return }
        isPromoting = true
        epoch += 1
        Trace.note(leader.name, "replaces \(former.name) by \(best.name), epoch \(epoch)")
        Trace.reached(isManual ? "manual failover" : "failover")
        if oracle.isAnyRequestUnderWay { Trace.reached("failover during a request") }
        leader.publish("+failover-state-wait-promotion", former, best)
        await pause(Double.random(in: 0.002...0.2, using: &random))
        let hasAll = former.link(to: best)?.acknowledged == former.offset
        if !hasAll { Trace.reached("acknowledged writes were lost in a failover") }
        oracle.replaced(former.data, by: best.data)
        best.promote()
        former.wasReplaced()
        master = best
        isPromoting = false
        await pause(Double.random(in: 0.01...1, using: &random))
        leader.publish("+promoted-slave", former, best)
        for other in nodes where other !== best && other !== former && other.leader === former {
            await pause(Double.random(in: 0.05...1, using: &random))
            if other.isUp { other.follow(best, after: Double.random(in: 0.05...2, using: &random)) }
        }
        await pause(Double.random(in: 0.05...1, using: &random))
        for sentinel in sentinels { announce(sentinel, isLeader: sentinel === leader, best, epoch) }
    }

    private func rank(_ replica: RedisNode, of former: RedisNode) -> Int {
        former.link(to: replica)?.acknowledged ?? -1
    }

    private func announce(_ sentinel: RedisSentinel, isLeader: Bool, _ node: RedisNode, _ epoch: Int) {
        let milliseconds = isLeader ? 0 : Int.random(in: 0...2500, using: &random)
        EventPoller.shared.schedule(after: .milliseconds(milliseconds)) {
            if !sentinel.isStale { sentinel.learn(node, epoch) }
        }
    }
}

/// One sentinel, as a client meets it.
@LoopActor
final class RedisSentinel: RedisEndpoint {
    let name: String
    let number: Int
    var isUp = true
    /// Whether it hears nothing of the others.
    var isStale = false
    private var master: RedisNode
    private let first: RedisNode
    private var epoch = 1
    private let ports: RedisPorts
    private var subscriptions: [(connection: RedisServerConnection, channel: String)] = []

    init(_ name: String, number: Int, master: RedisNode, in ports: RedisPorts) {
        self.name = name
        self.number = number
        self.master = master
        first = master
        self.ports = ports
    }

    func reply(to words: [[UInt8]], on connection: RedisServerConnection) -> Lua.Value? {
        let texts = words.map { String(decoding: $0, as: UTF8.self) }
        func array(_ words: [String]) -> Lua.Value { .array(words.map { .text(Array($0.utf8)) }) }
        switch (texts[0].uppercased(), texts.dropFirst().first?.uppercased()) {
        case ("PING", _):
            return subscriptions.contains { $0.connection === connection } ? array(["pong", ""]) : .status("PONG")
        case ("SUBSCRIBE", _):
            subscriptions.append((connection, texts[1]))
            connection.onEnd = { [unowned self, unowned connection] in
                subscriptions.removeAll { $0.connection === connection }
            }
            return .array([
                .text(Array("subscribe".utf8)), .text(words[1]),
                .integer(subscriptions.count { $0.connection === connection }),
            ])
        case ("SENTINEL", "GET-MASTER-ADDR-BY-NAME"):
            return array([ports.host(named(connection.client).number, for: connection.client), "6379"])
        case ("SENTINEL", "MASTER"):
            return array(["name", SentinelRedis.master, "config-epoch", String(epoch)])
        default: Finding.end("the model of a sentinel does not know \(texts)")
        }
    }

    private func named(_ client: String) -> RedisNode {
        Plant.trustsStaleMaster(client) ? first : master
    }

    /// It knows of a failover.
    func learn(_ node: RedisNode, _ epoch: Int) {
        guard epoch > self.epoch else { return }
        let former = master
        master = node
        self.epoch = epoch
        send("+switch-master") { [ports] client in
            "\(SentinelRedis.master) \(ports.host(former.number, for: client)) 6379 \(ports.host(node.number, for: client)) 6379"
        }
    }

    /// What the elected one tells of a promotion.
    func publish(_ channel: String, _ former: RedisNode, _ promoted: RedisNode) {
        send(channel) { [ports] client in
            let (old, new) = (ports.host(former.number, for: client), ports.host(promoted.number, for: client))
            return "slave \(new):6379 \(new) 6379 @ \(SentinelRedis.master) \(old) 6379"
        }
    }

    private func send(_ channel: String, _ text: (String) -> String) {
        guard isUp else { return }
        for each in subscriptions where each.channel == channel {
            each.connection.publish(channel, text(each.connection.client))
        }
    }
}
