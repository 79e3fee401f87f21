import CloakroomLoop

/// A server of Redis that is a master or follows one: what it replicates, when, and which writes it refuses.
///
/// Source: redis.io, "Redis replication"; WAIT, ROLE, INFO; `min-replicas-to-write` and `min-replicas-max-lag` are 1, as the
/// manual advises.
@LoopActor
final class RedisNode: RedisEndpoint {
    let name: String
    /// Of its address.
    let number: Int
    let data = RedisData()
    private(set) var isUp = true
    /// Whom it follows; `nil` while it takes itself for a master.
    private(set) var leader: RedisNode?
    private(set) var replicas: [RedisReplicaLink] = []
    /// Of what it has changed as a master.
    private(set) var offset = 0
    /// Whether another has its place, which it does not know.
    private var isReplaced = false
    /// Whether it has taken a write since, which nothing will keep.
    private var hasDiverged = false
    /// What a cluster's node says first of a request; `nil` when it is its own.
    var redirection: ((_ words: [[UInt8]], _ connection: RedisServerConnection) -> Lua.Value?)?
    /// What it has kept since it was replaced first: see ``Plant/staleMasterIsTrusted``.
    private var stale: RedisData?
    private let ports: RedisPorts
    private let oracle: Oracle
    /// Of a server before Redis 7, an error inside a script has another form.
    private let isOld: Bool

    init(_ name: String, number: Int, in ports: RedisPorts, _ oracle: Oracle, isOld: Bool) {
        self.name = name
        self.number = number
        self.ports = ports
        self.oracle = oracle
        self.isOld = isOld
        data.refusal = { [unowned self] in refusal }
    }

    // MARK: Requests

    func reply(to words: [[UInt8]], on connection: RedisServerConnection) -> Lua.Value? {
        let command = String(decoding: words[0], as: UTF8.self).uppercased()
        if let stale, Plant.trustsStaleMaster(connection.client) {
            guard command == "ROLE" else { return stale.run(words) }
            return .array([.text(Array("master".utf8)), .integer(offset), .array([])])
        }
        switch command {
        case "ROLE": return role(for: connection.client)
        case "INFO":
            let text =
                "# Replication\r\nrole:\(leader == nil ? "master" : "slave")\r\nconnected_slaves:\(attached.count)\r\n"
            return .text(Array(text.utf8))
        case "WAIT":
            wait(words, connection)
            return nil
        default:
            if let redirection = redirection?(words, connection) { return redirection }
            let reply = data.run(words)
            propagate()
            return inFormOfVersion(reply, words)
        }
    }

    private func inFormOfVersion(_ reply: Lua.Value, _ words: [[UInt8]]) -> Lua.Value {
        guard isOld, words[0].starts(with: "EVAL".utf8), case .error(let text) = reply, text.hasPrefix("READONLY")
        else {
            return reply
        }
        return .error("ERR Error running script (call to f_0): @user_script:1: @user_script: 1: -\(text)")
    }

    private var refusal: String? {
        if leader != nil {
            Trace.reached("a replica refused a write")
            return "READONLY You can't write against a read only replica."
        }
        guard !replicas.contains(where: { $0.isGood(of: self, ports.network) }) else { return nil }
        Trace.reached("a master without replicas refused a write")
        return "NOREPLICAS Not enough good replicas to write."
    }

    /// Those that its master counts, whether or not they still hear.
    private var attached: [RedisReplicaLink] { replicas.filter(\.isOpen) }

    private func role(for client: String) -> Lua.Value {
        func text(_ text: String) -> Lua.Value { .text(Array(text.utf8)) }
        if let leader {
            return .array([
                text("slave"), text(ports.host(leader.number, for: client)), .integer(6379), text("connected"),
                .integer(0),
            ])
        }
        let replicas = attached.map { link in
            Lua.Value.array([
                text(ports.host(link.replica.number, for: client)), text("6379"), text(String(link.acknowledged)),
            ])
        }
        return .array([text("master"), .integer(offset), .array(replicas)])
    }

    private func wait(_ words: [[UInt8]], _ connection: RedisServerConnection) {
        let (own, end) = (offset, VirtualTime.now + 1_000_000_000)
        let count = Int(String(decoding: words[1], as: UTF8.self)) ?? 0
        LoopActor.spawn { [self] in
            while isUp, VirtualTime.now < end, replicaCount(having: own) < count {
                try? await LoopActor.sleep(for: .milliseconds(20))
            }
            connection.sendLate(.integer(replicaCount(having: own)))
        }
    }

    private func replicaCount(having own: Int) -> Int { replicas.count { $0.isOpen && $0.acknowledged >= own } }

    // MARK: Replication

    private func propagate() {
        let changes = data.takeChanges()
        guard !changes.isEmpty, leader == nil else { return }
        offset += 1
        for link in replicas { link.add(changes, offset) }
        guard isReplaced, !hasDiverged else { return }
        hasDiverged = true
        Trace.note(name, "takes a write, and another has its place")
        Trace.reached("a former master took a write")
        oracle.countsWereLost()
    }

    /// It is a replica of another from now on: what it has that the other lacks is gone.
    func follow(_ master: RedisNode, after seconds: Double) {
        detach()
        for link in replicas { link.isOpen = false }
        replicas = []
        leader = master
        isReplaced = false
        ports.drop(self)
        let link = RedisReplicaLink(self, to: master, ports.network)
        master.replicas.append(link)
        link.synchronize(after: seconds)
        Trace.note(name, "follows \(master.name)")
    }

    private func detach() {
        leader?.replicas.removeAll { $0.replica === self }
        leader = nil
    }

    /// It takes another's place.
    func promote() {
        detach()
        offset += 1
        _ = data.takeChanges()
        isReplaced = false
        ports.drop(self)
        Trace.note(name, "is a master")
    }

    /// Another has its place.
    func wasReplaced() {
        if Plant.current == .staleMasterIsTrusted, stale == nil {
            stale = RedisData()
            stale?.copy(data)
        }
        isReplaced = true
        hasDiverged = false
    }

    func link(to replica: RedisNode) -> RedisReplicaLink? { replicas.first { $0.replica === replica } }

    /// One key, with what it has: another master has it from now on (`MIGRATE`).
    func migrate(_ key: [UInt8], to other: RedisNode) {
        guard let entry = data.entries[key] else { return }
        other.data.set(key, entry)
        other.propagate()
        data.set(key, nil)
        propagate()
    }

    // MARK: The process

    func crash() {
        isUp = false
        for link in replicas { link.isOpen = false }
        leader?.link(to: self)?.isOpen = false
        ports.drop(self)
        Trace.note(name, "crashes")
    }

    func start(losingData: Bool) {
        isUp = true
        if losingData { data.flush() }
        leader?.link(to: self)?.synchronize(after: 0.5)
        for link in replicas { link.synchronize(after: 0.5) }
        Trace.note(name, losingData ? "is back, and has lost its data" : "is back")
    }
}

/// What goes from a master to one of its replicas.
@LoopActor
final class RedisReplicaLink {
    unowned let replica: RedisNode
    private unowned let master: RedisNode
    private let network: Network
    /// Whether it has all that its master had, but for what is under way.
    var isOpen = false
    private(set) var acknowledged = -1
    private var pending: [(offset: Int, changes: [RedisKeyspace.Change], due: UInt64)] = []
    private var isRunning = false
    private var synchronizations = 0

    init(_ replica: RedisNode, to master: RedisNode, _ network: Network) {
        self.replica = replica
        self.master = master
        self.network = network
    }

    private var isCurrent: Bool { replica.leader === master }

    /// Whether the master has heard of it within the last second or two.
    func isGood(of master: RedisNode, _ network: Network) -> Bool {
        isOpen && replica.isUp && network.separation(master.name, replica.name).map { $0 < 1.5 } ?? true
    }

    func add(_ changes: [RedisKeyspace.Change], _ offset: Int) {
        guard isOpen else { return }
        let due = max(pending.last?.due ?? 0, VirtualTime.now + network.delay(1).nanoseconds)
        pending.append((offset, changes, due))
        run()
    }

    private func run() {
        guard !isRunning, let first = pending.first else { return }
        isRunning = true
        let wait = first.due > VirtualTime.now ? first.due - VirtualTime.now : 500_000_000
        EventPoller.shared.schedule(after: .nanoseconds(Int64(wait))) { [weak self] in
            guard let self else { return }
            isRunning = false
            deliver()
            run()
        }
    }

    private func deliver() {
        guard isOpen, isCurrent, replica.isUp, master.isUp else {
            pending = []
            return
        }
        guard network.separation(master.name, replica.name) == nil else { return }
        while let first = pending.first, first.due <= VirtualTime.now {
            replica.data.apply(first.changes)
            acknowledged = first.offset
            pending.removeFirst()
        }
    }

    /// A copy of all that the master has, once they can speak to each other.
    func synchronize(after seconds: Double) {
        isOpen = false
        pending = []
        synchronizations += 1
        let number = synchronizations
        LoopActor.spawn { [self] in
            try? await LoopActor.sleep(for: .milliseconds(Int(seconds * 1000)))
            while number == synchronizations, isCurrent,
                !replica.isUp || !master.isUp || master.leader != nil
                    || network.separation(master.name, replica.name) != nil
            {
                try? await LoopActor.sleep(for: .seconds(1))
            }
            guard number == synchronizations, isCurrent else { return }
            replica.data.copy(master.data)
            acknowledged = master.offset
            isOpen = true
        }
    }
}
