import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomRedis

/// Three primaries with a replica each, all real processes.
@Suite(.onLoop, .serialized, .timeLimit(.minutes(3)))
struct RedisClusterTests {
    @LoopActor private func withClusterClient<Value>(
        _ nodes: [UInt16], _ body: @LoopActor (RedisClusterClient) async throws -> Value
    ) async throws -> Value {
        let addresses = nodes.map { RedisAddress.internet(host: "127.0.0.1", port: $0) }
        var server = RedisConnection.Options(address: addresses[0])
        server.keepsSpare = true
        // Longer than a worker's: the machine of a test may be busy.
        server.timeout = .milliseconds(200)
        let client = RedisClusterClient(options: RedisClusterClient.Options(nodes: addresses, server: server))
        defer { client.close() }
        return try await body(client)
    }

    private static let count = RedisScript(
        source: "return redis.call('INCR', KEYS[1])", digest: "0123456789012345678901234567890123456789")

    private static func slot(_ key: String) -> Int { HashSlot(of: Array(key.utf8)).number }

    /// A key in each third of the slots, as `redis-cli` divides them.
    private static let keys = [0, 1, 2].map { third in
        (0...).lazy.map { "key:\($0)" }.first { slot($0) * 3 / HashSlot.count == third }!
    }

    // MARK: Without a fault

    @Test @LoopActor func `each key goes to its server, and requests with several are put together`() async throws {
        let cluster = try await onThread { try RedisClusterServers(replicas: 0) }
        // One node tells of the others.
        try await withClusterClient([cluster.ports[2]]) { client in
            await client.settle(within: .seconds(10))
            #expect(client.isReady)
            for number in 0..<200 {
                let key = "\(number):{\(number % 7)}:\(UUID())"
                let slot = await direct(cluster.ports[0], "CLUSTER", "KEYSLOT", key)
                #expect(slot == .integer(Self.slot(key)))
                #expect(await client.outcome("SET", key, "\(number)") == .success(.status("OK")))
                #expect(await client.outcome("GET", key) == .success(.text(Array("\(number)".utf8))))
            }
            let keys = Self.keys
            for round in 1...3 {
                // No server knows the script the first time.
                let request = RedisRequest(
                    [keys[0], keys[1]].map { Self.count.call(keys: [$0], arguments: []) },
                    beside: RedisCommand(["GET", keys[2]]))
                let outcomes = await client.outcomes(request)
                #expect(outcomes == [.success(.integer(round)), .success(.integer(round)), .success(.null)])
            }
            #expect(await client.outcome("PING") == .success(.status("PONG")))
        }
    }

    @Test @LoopActor func `each primary itself takes keys with its tag`() async throws {
        let cluster = try await onThread { try RedisClusterServers(replicas: 0) }
        try await withClusterClient(cluster.ports) { client in
            #expect(client.keyTags.count == 1 && client.keyTags.compactMap(\.server).isEmpty)
            await client.settle(within: .seconds(10))
            let tags = client.keyTags
            #expect(tags.compactMap(\.server) == client.currentServers && tags.count == 3)
            for (server, tag) in tags {
                guard case .internet(_, let port)? = server else { continue }
                #expect(await direct(port, "SET", "trial:w:{\(tag)}:limit", "1") == .status("OK"))
            }
        }
    }

    @Test @LoopActor func `a step through the keys comes to those of all servers`() async throws {
        let cluster = try await onThread { try RedisClusterServers(replicas: 0) }
        try await withClusterClient(cluster.ports) { client in
            await client.settle(within: .seconds(10))
            let keys = Set((0..<300).map { "user:{\($0)}" })
            for key in keys { #expect(await client.outcome("SET", key, "1") == .success(.status("OK"))) }
            var found: Set<String> = []
            var cursor = "0"
            repeat {
                let (some, next) = try await client.scan(from: cursor, matching: "user:*")
                found.formUnion(some)
                cursor = next
            } while cursor != "0"
            #expect(found == keys)
        }
    }

    @Test @LoopActor func `other processes go on where a step through the keys ended`() async throws {
        let cluster = try await onThread { try RedisClusterServers(replicas: 0) }
        let keys = Set((0..<9).map { "user:{\($0)}" })
        try await withClusterClient(cluster.ports) { client in
            await client.settle(within: .seconds(10))
            for key in keys { #expect(await client.outcome("SET", key, "1") == .success(.status("OK"))) }
        }
        var found: Set<String> = []
        var cursor = "0"
        var steps = 0
        repeat {
            let from = cursor
            let (some, next) = try await withClusterClient([cluster.ports[steps % 3]]) { client in
                await client.settle(within: .seconds(10))
                return try await client.scan(from: from, matching: "user:*")
            }
            found.formUnion(some)
            cursor = next
            steps += 1
        } while cursor != "0" && steps < 100
        #expect(found == keys && steps >= 3)
    }

    // MARK: Moving slots

    @Test @LoopActor func `follows ASK to a server that does not know the script, and waits out TRYAGAIN`() async throws
    {
        let cluster = try await onThread { try RedisClusterServers(replicas: 0) }
        try await withClusterClient(cluster.ports) { client in
            await client.settle(within: .seconds(10))
            let key = Self.keys[0]
            let slot = "\(Self.slot(key))"
            let (from, to) = (cluster.ports[0], cluster.ports[1])
            let names = try await onThread {
                try [from, to].map { try cluster.name(of: $0) }
            }
            try await onThread {
                try cluster.command(["-p", "\(to)", "CLUSTER", "SETSLOT", slot, "IMPORTING", names[0]])
                try cluster.command(["-p", "\(from)", "CLUSTER", "SETSLOT", slot, "MIGRATING", names[1]])
            }
            // The key is on neither: the old server asks for the new one.
            let call = RedisRequest(Self.count.call(keys: ["{\(key)}a"], arguments: []))
            #expect(await client.outcomes(call) == [.success(.integer(1))])
            #expect(await client.outcomes(call) == [.success(.integer(2))])
            #expect(await client.outcome("SET", "{\(key)}b", "x") == .success(.status("OK")))

            // One key on each: the servers refuse until both are on one.
            try await onThread {
                try cluster.command(["-p", "\(from)", "CLUSTER", "SETSLOT", slot, "STABLE"])
                try cluster.command(["-p", "\(from)", "SET", "{\(key)}old", "1"])
                try cluster.command(["-p", "\(from)", "CLUSTER", "SETSLOT", slot, "MIGRATING", names[1]])
            }
            let both = RedisRequest(
                RedisScript(
                    source: "return redis.call('EXISTS', KEYS[1], KEYS[2])",
                    digest: "1123456789012345678901234567890123456789"
                ).call(keys: ["{\(key)}old", "{\(key)}a"], arguments: []))
            #expect(await client.outcomes(both) == [.failure(.refused(code: "TRYAGAIN"))])
            try await onThread {
                try cluster.command(["-p", "\(from)", "MIGRATE", "127.0.0.1", "\(to)", "{\(key)}old", "0", "1000"])
                for port in cluster.ports {
                    try cluster.command(["-p", "\(port)", "CLUSTER", "SETSLOT", slot, "NODE", names[1]])
                }
            }
            #expect(await becomes { await client.outcomes(both) == [.success(.integer(2))] })
            #expect(await client.outcome("GET", "{\(key)}old") == .success(.text(Array("1".utf8))))
        }
    }

    @Test @LoopActor func `loses and refuses nothing while slots move with their keys`() async throws {
        let cluster = try await onThread { try RedisClusterServers(replicas: 0) }
        try await withClusterClient(cluster.ports) { client in
            await client.settle(within: .seconds(10))
            let load = FailoverLoad(client, lanes: 12)
            // As a worker's: a request of keys in two slots, of which one has two keys and one four.
            let scripts = ScriptLoad(client, lanes: 12)
            #expect(await becomes { load.total > 200 && scripts.total > 200 })
            try await onThread {
                let names = try cluster.ports.map { try cluster.name(of: $0) }
                try cluster.command([
                    "--cluster", "reshard", "127.0.0.1:\(cluster.ports[0])", "--cluster-from", names[0], "--cluster-to",
                    names[1], "--cluster-slots", "2000", "--cluster-yes",
                ])
            }
            let total = load.total
            #expect(await becomes { load.total > total + 100 })
            await load.stop()
            await scripts.stop()
            #expect(load.failures == 0)
            #expect(await load.lost() == 0)
            #expect(scripts.failures == [])
        }
    }

    // MARK: Faults

    @Test @LoopActor func `finds the new primary when one is killed, and keeps it when the old one is back`()
        async throws
    {
        let cluster = try await onThread { try RedisClusterServers() }
        try await withClusterClient(cluster.ports) { client in
            await client.settle(within: .seconds(10))
            let load = FailoverLoad(client, key: Self.keys[0])
            #expect(await becomes { load.total > 2_000 })
            let killed = cluster.ports[0]
            try await onThread { cluster.kill(killed) }
            load.mark()
            let servers = LoopActor.spawn { await gapOfServers(cluster, Self.keys[0]) }
            // The keys of the others are served again before that.
            #expect(await becomes { load.firstAfterMark != nil })
            report("kill -9", client: try #require(load.firstAfterMark), servers: await servers.value)
            try await onThread { try cluster.start(killed) }
            #expect(await becomes { await role(of: killed) == "slave" })
            let total = load.total
            #expect(await becomes { load.total > total + 100 })
            await load.stop()
            #expect(await Double(load.lost()) <= 0.01 * Double(load.total))
        }
    }

    @Test @LoopActor func `a primary that stops and goes on takes no counts that are lost`() async throws {
        let cluster = try await onThread {
            try RedisClusterServers(options: ["--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"])
        }
        try await withClusterClient(cluster.ports) { client in
            await client.settle(within: .seconds(10))
            let load = FailoverLoad(client, key: Self.keys[1])
            #expect(await becomes { load.total > 2_000 })
            let paused = cluster.ports[1]
            cluster.pause(paused)
            load.mark()
            let servers = LoopActor.spawn { await gapOfServers(cluster, Self.keys[1]) }
            // The old one has no replica left, and the new one has none until the old one is back.
            _ = await servers.value
            cluster.resume(paused)
            #expect(await becomes { load.firstAfterMark != nil })
            #expect(await becomes { await role(of: paused) == "slave" })
            await load.stop()
            #expect(await Double(load.lost()) <= 0.01 * Double(load.total))
        }
    }

    @Test @LoopActor func `follows a failover by hand without a failure that lasts`() async throws {
        let cluster = try await onThread { try RedisClusterServers() }
        try await withClusterClient(cluster.ports) { client in
            await client.settle(within: .seconds(10))
            let load = FailoverLoad(client, key: Self.keys[2])
            #expect(await becomes { load.total > 2_000 })
            let replica = try #require(try await onThread { try cluster.replica(ofKey: Self.keys[2]) })
            #expect(await becomes { await direct(replica, "CLUSTER", "FAILOVER") == .status("OK") })
            load.mark()
            #expect(await becomes { await role(of: replica) == "master" })
            let total = load.total
            #expect(await becomes { load.total > total + 100 })
            report("CLUSTER FAILOVER", client: try #require(load.firstAfterMark), servers: nil)
            await load.stop()
            #expect(await Double(load.lost()) <= 0.01 * Double(load.total))
        }
    }

    @Test @LoopActor func `needs no restart when all have been down`() async throws {
        let cluster = try await onThread { try RedisClusterServers(replicas: 0) }
        try await withClusterClient(cluster.ports) { client in
            await client.settle(within: .seconds(10))
            try await onThread { for port in cluster.ports { cluster.kill(port) } }
            #expect(await becomes { !client.isReady })
            guard case .failure = await client.outcome("INCR", "n") else { return _ = Issue.record("no failure") }
            try await onThread { for port in cluster.ports { try cluster.start(port) } }
            for key in Self.keys {
                #expect(await becomes { await client.outcome("SET", key, "1") == .success(.status("OK")) })
            }
        }
    }

    @Test @LoopActor func `a server that is no cluster is told as one`() async throws {
        let servers = try await onThread { try RedisSentinelServers(replicas: 0, sentinels: 0) }
        try await withClusterClient(servers.servers) { client in
            await client.settle(within: .milliseconds(500))
            #expect(await becomes { client.refusal == .refused(code: "NOCLUSTER") })
            #expect(await client.outcome("GET", "a") == .failure(.refused(code: "NOCLUSTER")))
        }
    }

    // MARK: The servers themselves

    /// Until a write to the key succeeds on a server that did not have it before.
    @LoopActor private func gapOfServers(_ cluster: RedisClusterServers, _ key: String) async -> Duration? {
        let start = ContinuousClock.now
        let isWritable = await becomes {
            for port in cluster.ports.dropFirst(RedisClusterServers.primaries)
            where await direct(port, "SET", "{\(key)}probe", "1") == .status("OK") {
                return true
            }
            // A master without its replica takes none, and is the master.
            for port in cluster.ports.dropFirst(RedisClusterServers.primaries) where await role(of: port) == "master" {
                return true
            }
            return false
        }
        return isWritable ? .now - start : nil
    }
}

/// Requests of two scripts with several keys each, one after the other.
@LoopActor
private final class ScriptLoad {
    private static let script = RedisScript(
        source: "for _, key in ipairs(KEYS) do redis.call('INCR', key) end return 1",
        digest: "3123456789012345678901234567890123456789")
    private let client: any RedisClient
    private var tasks: [Task<Void, Never>] = []
    private var isStopped = false
    private(set) var total = 0
    private(set) var failures: [RedisOutcome] = []

    init(_ client: any RedisClient, lanes: Int) {
        self.client = client
        tasks = (0..<lanes).map { lane in LoopActor.spawn { await self.run(lane) } }
    }

    func stop() async {
        isStopped = true
        for task in tasks { await task.value }
    }

    private func run(_ lane: Int) async {
        let calls = [2, 4].map { count in
            Self.script.call(keys: (0..<count).map { "{script:\(count):\(lane)}:\($0)" }, arguments: [])
        }
        while !isStopped {
            let outcomes = await client.outcomes(RedisRequest(calls, mayRepeat: false))
            total += 1
            failures += outcomes.filter { $0 != .success(.integer(1)) }
            try? await LoopActor.sleep(for: .milliseconds(1))
        }
    }
}
