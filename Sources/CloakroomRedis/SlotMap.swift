import CloakroomCrypto

/// Which server has each slot of a cluster, as one of its nodes says.
struct SlotMap: Sendable, Equatable {
    /// The primaries, each once, in the same order whatever node says it.
    let primaries: [RedisAddress]
    /// Of each slot, where its primary is among them; -1 for a slot that no server has.
    private let owners: [Int16]
    /// Where slots of another owner begin, or of none, and whose: some numbers in place of 16,384 to compare.
    private let borders: [Int]
    /// Whether each slot has a server.
    let isWhole: Bool
    /// Grows with each failover that the node knows of.
    let epoch: Int
    /// Whether the node takes requests, by its own word.
    let isServing: Bool

    /// - Parameters:
    ///   - slots: what `CLUSTER SLOTS` returns.
    ///   - info: what `CLUSTER INFO` returns.
    ///   - node: whom that is from: a node that knows no address of its own leaves it out.
    /// - Returns: `nil` for what is no map.
    init?(slots: RedisReply, info: RedisReply, from node: RedisAddress) {
        guard case .array(let ranges) = slots else { return nil }
        var parts: [(slots: ClosedRange<Int>, address: RedisAddress)] = []
        for range in ranges {
            guard case .array(let fields) = range, fields.count >= 3, case .integer(let first) = fields[0],
                case .integer(let last) = fields[1], 0 <= first, first <= last, last < HashSlot.count,
                case .array(let server) = fields[2], server.count >= 2, case .integer(let number) = server[1],
                let port = UInt16(exactly: number), port > 0
            else { return nil }
            guard let host = Self.host(of: server, from: node) else { continue }
            parts.append((first...last, .internet(host: host, port: port)))
        }
        let primaries = Set(parts.map(\.address)).sorted { "\($0)" < "\($1)" }
        guard !primaries.isEmpty, primaries.count <= Int(Int16.max) else { return nil }
        let numbers = Dictionary(uniqueKeysWithValues: primaries.enumerated().map { ($1, Int16($0)) })
        var owners = [Int16](repeating: -1, count: HashSlot.count)
        for (slots, address) in parts {
            // Looked up for a range, not for each of its slots: all nodes are read again and again while something fails.
            let number = numbers[address] ?? -1
            for slot in slots { owners[slot] = number }
        }
        var borders: [Int] = []
        var (before, isWhole) = (Int16.min, true)
        for (slot, owner) in owners.enumerated() where owner != before {
            borders.append((slot << 16) + Int(owner) + 1)
            isWhole = isWhole && owner >= 0
            before = owner
        }
        self.primaries = primaries
        self.owners = owners
        self.borders = borders
        self.isWhole = isWhole
        let state = Self.fields(info)
        epoch = state["cluster_current_epoch"].flatMap { Int($0) } ?? 0
        isServing = state["cluster_state"] == "ok"
    }

    /// - Returns: where it is among the primaries; `nil` for a slot that no server has.
    subscript(slot: HashSlot) -> Int? {
        let owner = owners[slot.number]
        return owner < 0 ? nil : Int(owner)
    }

    /// Each slot has a number up to this one, in decimal digits.
    private static let lastTag = 109_757

    /// Of each primary with slots the least number that a key has to have in braces to lie there, in the primaries' order.
    var keyTags: [(server: RedisAddress?, tag: String)] {
        var tags = [String?](repeating: nil, count: primaries.count)
        var missing = primaries.count
        var number = 0
        // Of three primaries, four numbers or so; more only where one has few slots.
        while missing > 0, number <= Self.lastTag {
            let tag = String(number)
            if let owner = self[HashSlot(of: tag.utf8)], tags[owner] == nil {
                tags[owner] = tag
                missing -= 1
            }
            number += 1
        }
        var found: [(server: RedisAddress?, tag: String)] = []
        for (primary, tag) in zip(primaries, tags) {
            if let tag { found.append((server: primary, tag: tag)) }
        }
        return found
    }

    func hasSameOwners(as other: SlotMap) -> Bool { primaries == other.primaries && borders == other.borders }

    /// Of the primaries and the slots of each: the same in every process that has this map, and another one for other owners.
    ///
    /// The first eight bytes of a SHA-256, in hexadecimal.
    var digest: String {
        let words = primaries.map(\.description) + borders.map { "\($0)" }
        return String(SHA256.hash(words.joined(separator: " ").utf8).hexadecimal.prefix(16))
    }

    /// Of the maps of several nodes the one to go by: of a node that takes requests, then the one that most nodes have,
    /// then that of the latest failover. A single node, such as one that now is of another cluster, does not decide by the
    /// epoch that it says.
    static func mostAgreed(_ maps: [SlotMap]) -> SlotMap? {
        let ranks = maps.map { map in
            let voices = maps.count { $0.isServing == map.isServing && $0.hasSameOwners(as: map) }
            return (map.isServing ? 1 : 0, voices, map.epoch)
        }
        return zip(maps, ranks).max { $0.1 < $1.1 }?.0
    }

    /// The first of `[host, port, id, [name, value, …]]`: the preferred name, which a certificate has to be for. Where it is
    /// null it is the host that was asked; `?` stands for a name that the server lacks, and then its address may be told
    /// (redis.io, CLUSTER SLOTS).
    private static func host(of server: [RedisReply], from node: RedisAddress) -> String? {
        switch server[0].string {
        case nil, "": if case .internet(let host, _) = node { host } else { nil }
        case "?":
            if server.count > 3, case .array(let details) = server[3],
                let index = details.firstIndex(where: { $0.string == "ip" }), index + 1 < details.count
            {
                details[index + 1].string
            } else {
                nil
            }
        case let name: name
        }
    }

    private static func fields(_ info: RedisReply) -> [Substring: Substring] {
        guard case .text(let bytes) = info else { return [:] }
        let lines = String(decoding: bytes, as: UTF8.self).split { $0.isNewline }
        return Dictionary(
            lines.compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            }, uniquingKeysWith: { first, _ in first })
    }
}

/// What a node refuses because the key is another's.
struct ClusterRedirection: Sendable, Equatable {
    enum Kind: Sendable { case moved, ask }

    let kind: Kind
    let address: RedisAddress

    /// - Parameters:
    ///   - message: such as `MOVED 3999 10.0.0.7:6381`; without a host it is the node that was asked, and `?` is none.
    ///   - node: that node.
    init?(_ message: String, from node: RedisAddress) {
        let words = message.split(separator: " ")
        guard words.count == 3, let colon = words[2].lastIndex(of: ":"),
            let port = UInt16(words[2][words[2].index(after: colon)...]), port > 0
        else { return nil }
        switch words[0] {
        case "MOVED": kind = .moved
        case "ASK": kind = .ask
        default: return nil
        }
        var host = String(words[2][..<colon])
        if host.isEmpty, case .internet(let own, _) = node { host = own }
        guard !host.isEmpty, host != "?" else { return nil }
        address = .internet(host: host, port: port)
    }
}
