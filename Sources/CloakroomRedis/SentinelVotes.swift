/// Which server a sentinel takes for the master.
struct SentinelVote: Sendable, Equatable {
    let master: RedisAddress
    /// Grows with each failover that the sentinel knows of.
    let epoch: Int
}

/// What the sentinels respond when they are all asked for the master at once.
struct SentinelVotes: Sendable {
    /// How many sentinels there are.
    let sentinels: Int
    private(set) var votes: [SentinelVote] = []
    private(set) var failures: [RedisError] = []

    init(sentinels: Int) { self.sentinels = sentinels }

    mutating func add(_ vote: Result<SentinelVote, RedisError>) {
        switch vote {
        case .success(let vote): votes.append(vote)
        case .failure(let error): failures.append(error)
        }
    }

    /// The server that most of those name that responded. Of two that as many name it is the one of the later failover.
    var master: RedisAddress? {
        let named = Set(votes.map(\.master))
        let ranks = named.map { (address: $0, count: count(of: $0), epoch: epoch(of: $0)) }
        guard let best = ranks.max(by: { ($0.count, $0.epoch) < ($1.count, $1.epoch) }),
            !ranks.contains(where: { $0.address != best.address && ($0.count, $0.epoch) == (best.count, best.epoch) })
        else { return nil }
        return best.address
    }

    /// Whether more than half of all sentinels name this server, whatever the others will respond.
    func agree(on address: RedisAddress) -> Bool { count(of: address) * 2 > sentinels }

    /// Whether no more responses are needed.
    var isDecided: Bool {
        votes.count + failures.count >= sentinels || Set(votes.map(\.master)).contains { agree(on: $0) }
    }

    /// Why no master is known: what the sentinels say, if any of them says something.
    var failure: RedisError { failures.first(where: \.isExplained) ?? .unavailable }

    private func count(of address: RedisAddress) -> Int { votes.count { $0.master == address } }

    /// Of the latest failover that those know of who name this server.
    func epoch(of address: RedisAddress) -> Int {
        votes.filter { $0.master == address }.map(\.epoch).max() ?? 0
    }
}

extension SentinelVote {
    /// Reads the responses to `SENTINEL GET-MASTER-ADDR-BY-NAME` and `SENTINEL MASTER`.
    static func reading(_ response: RedisResponse) -> Result<SentinelVote, RedisError> {
        switch response {
        case .failure(let error): return .failure(error)
        case .reply(var cursor):
            if let refusal = cursor.refusal { return .failure(refusal) }
            guard case .array(let pair) = RedisReply(&cursor), pair.count == 2,
                let master = RedisAddress(host: pair[0].string, port: pair[1].string)
            else { return .failure(.noMaster) }
            cursor.goTo(reply: 1)
            return .success(SentinelVote(master: master, epoch: Self.epoch(RedisReply(&cursor))))
        }
    }

    /// - Parameter reply: names and values in turn.
    private static func epoch(_ reply: RedisReply) -> Int {
        guard case .array(let fields) = reply, let name = fields.firstIndex(of: .text(Array("config-epoch".utf8))),
            name + 1 < fields.count
        else { return 0 }
        return fields[name + 1].string.flatMap { Int($0) } ?? 0
    }
}

extension RedisAddress {
    /// - Returns: `nil` for what is no address.
    init?(host: String?, port: String?) {
        guard let host, !host.isEmpty, let port = port.flatMap({ UInt16($0) }), port > 0 else { return nil }
        self = .internet(host: host, port: port)
    }
}

extension RedisReply {
    /// The text, if that is what it is.
    var string: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension RedisError {
    /// The sentinels respond, but have no master of that name; the word is ours.
    static let noMaster = RedisError.refused(code: "NOMASTER")
}
