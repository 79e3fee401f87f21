import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport

/// A client of these sentinels, closed at its test's end.
@LoopActor
func withFailoverClient<Value>(
    _ sentinels: [UInt16], host: String = "127.0.0.1",
    _ change: (inout RedisFailoverClient.Options) -> Void = { _ in },
    _ body: @LoopActor (RedisFailoverClient) async throws -> Value
) async throws -> Value {
    let addresses = sentinels.map { RedisAddress.internet(host: host, port: $0) }
    var server = RedisConnection.Options(address: addresses[0])
    server.keepsSpare = true
    // Longer than a worker's: the machine of a test may be busy.
    server.timeout = .milliseconds(200)
    var options = RedisFailoverClient.Options(
        sentinels: RedisSentinels.Options(addresses: addresses, master: RedisSentinelServers.master), server: server,
        trialKey: "trial")
    change(&options)
    let client = RedisFailoverClient(options: options)
    defer { client.close() }
    return try await body(client)
}

extension RedisFailoverClient {
    var masterPort: UInt16? { if case .internet(_, let port)? = master { port } else { nil } }
}

/// Waits for a state, a minute at most.
@LoopActor
func becomes(_ isSo: @LoopActor () async -> Bool) async -> Bool {
    let start = ContinuousClock.now
    while await !isSo() {
        guard ContinuousClock.now - start < .seconds(60) else { return false }
        try? await LoopActor.sleep(for: .milliseconds(5))
    }
    return true
}

/// Counts that are sent one after the other, on several keys, without a pause for failures.
@LoopActor
final class FailoverLoad {
    private let client: any RedisClient
    private var tasks: [Task<Void, Never>] = []
    private var isStopped = false
    /// By key: how many were acknowledged.
    private(set) var acknowledged: [String: Int] = [:]
    /// Of the first that was sent after ``mark()`` and acknowledged.
    private(set) var firstAfterMark: Duration?
    private(set) var failures = 0
    private var marked: ContinuousClock.Instant?

    /// - Parameter key: what the keys have in braces, and so one server of a cluster; `nil` for keys of many.
    init(_ client: any RedisClient, lanes: Int = 4, key: String? = nil) {
        self.client = client
        tasks = (0..<lanes).map { lane in
            LoopActor.spawn { await self.run(key.map { "{\($0)}:\(lane)" } ?? "count:\(lane)") }
        }
    }

    func mark() {
        firstAfterMark = nil
        marked = .now
    }

    func stop() async {
        isStopped = true
        for task in tasks { await task.value }
    }

    /// Counts on the master that were acknowledged and are not there.
    func lost() async -> Int {
        var lost = 0
        for (key, count) in acknowledged {
            guard case .success(let reply) = await client.outcome("GET", key) else { return .max }
            let kept = if case .text(let text) = reply { Int(String(decoding: text, as: UTF8.self)) ?? 0 } else { 0 }
            lost += max(0, count - kept)
        }
        return lost
    }

    var total: Int { acknowledged.values.reduce(0, +) }

    private func run(_ key: String) async {
        while !isStopped {
            let sent = ContinuousClock.now
            switch await client.outcome("INCR", key) {
            case .success:
                acknowledged[key, default: 0] += 1
                if let marked, sent >= marked, firstAfterMark == nil { firstAfterMark = .now - marked }
            case .failure: failures += 1
            }
            try? await LoopActor.sleep(for: .milliseconds(1))
        }
    }
}

/// What a server says of itself: `master` or `slave`.
@LoopActor
func role(of port: UInt16) async -> String? {
    guard case .array(let parts)? = await direct(port, "ROLE"), case .text(let text)? = parts.first else { return nil }
    return String(decoding: text, as: UTF8.self)
}

/// The reply on a connection of its own; `nil` for none, and for a refusal.
@LoopActor
func direct(_ port: UInt16, _ words: String...) async -> RedisReply? { await direct(port, words) }

func direct(_ port: UInt16, _ words: [String]) async -> RedisReply? {
    try? await withRedis("", timeout: .seconds(1)) {
        $0.address = .internet(host: "127.0.0.1", port: port)
    } _: { redis in
        try await redis.send(RedisCommand(words))
    }
}

/// Prints how long a failover took.
func report(_ fault: String, client: Duration, servers: Duration?) {
    print("failover by \(fault): \(client) of the client, \(servers.map { "\($0)" } ?? "none") of the servers")
}
