/// Which server has each slot of a cluster, as one of its nodes says.
struct SlotMap: Sendable, Equatable {
    /// The primaries, each once.
    let primaries: [RedisAddress]
    /// Of each slot, where its primary is among them; -1 for a slot that no server has.
    private let owners: [Int16]
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
        var primaries: [RedisAddress] = []
        var owners = [Int16](repeating: -1, count: HashSlot.count)
        for range in ranges {
            guard case .array(let parts) = range, parts.count >= 3, case .integer(let first) = parts[0],
                case .integer(let last) = parts[1], 0 <= first, first <= last, last < HashSlot.count,
                let address = Self.address(parts[2], of: node)
            else { return nil }
            let index = primaries.firstIndex(of: address) ?? primaries.count
            if index == primaries.count { primaries.append(address) }
            for slot in first...last { owners[slot] = Int16(index) }
        }
        guard !primaries.isEmpty, primaries.count <= Int(Int16.max) else { return nil }
        self.primaries = primaries
        self.owners = owners
        let state = Self.fields(info)
        epoch = state["cluster_current_epoch"].flatMap { Int($0) } ?? 0
        isServing = state["cluster_state"] == "ok"
    }

    /// - Returns: where it is among the primaries; `nil` for a slot that no server has.
    subscript(slot: HashSlot) -> Int? {
        let owner = owners[slot.number]
        return owner < 0 ? nil : Int(owner)
    }

    /// `[host or null, port, …]`: the preferred name, which a certificate has to be for.
    private static func address(_ server: RedisReply, of node: RedisAddress) -> RedisAddress? {
        guard case .array(let parts) = server, parts.count >= 2, case .integer(let number) = parts[1],
            let port = UInt16(exactly: number), port > 0
        else { return nil }
        var host = ""
        if case .text(let bytes) = parts[0] { host = String(decoding: bytes, as: UTF8.self) }
        if host.isEmpty || host == "?", case .internet(let own, _) = node { host = own }
        return host.isEmpty || host == "?" ? nil : .internet(host: host, port: port)
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
    ///   - message: such as `MOVED 3999 10.0.0.7:6381`; without a host it is the node that was asked.
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
        if host.isEmpty || host == "?", case .internet(let own, _) = node { host = own }
        guard !host.isEmpty, host != "?" else { return nil }
        address = .internet(host: host, port: port)
    }
}
