import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomRedis

/// Sentinels that say what is not so, each a script; the servers are real.
@Suite(.onLoop, .serialized, .timeLimit(.minutes(2)))
struct UntrueSentinelTests {
    /// What a sentinel says from now on.
    private final class Voice: Sendable {
        private let state: Mutex<(master: UInt16, epoch: Int)>

        init(_ master: UInt16, epoch: Int = 1) { state = Mutex((master, epoch)) }

        func name(_ master: UInt16, epoch: Int) { state.withLock { $0 = (master, epoch) } }

        var replies: (address: String, details: String) {
            let (master, epoch) = state.withLock { $0 }
            return (array("127.0.0.1", "\(master)"), array("config-epoch", "\(epoch)"))
        }
    }

    /// - Parameters:
    ///   - published: a channel and a message, once it is subscribed to.
    ///   - endsAfterVote: whether it closes the connection behind each response.
    private static func sentinel(
        at path: String, _ voice: Voice, published: (String, String)? = nil, endsAfterVote: Bool = false
    ) throws -> ScriptedRedis {
        try ScriptedRedis(path: path) { command, _ in
            switch command.first {
            case "PING": return [.reply("+PONG\r\n")]
            case "SUBSCRIBE":
                let channel = command[1].lowercased()
                var steps = [ScriptedRedis.Step.reply("*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n")]
                if let published, published.0 == channel {
                    steps.append(.reply(array("message", channel, published.1)))
                }
                return steps
            case "SENTINEL" where command[1] == "MASTER":
                return [.reply(voice.replies.details)] + (endsAfterVote ? [.end] : [])
            default: return [.reply(voice.replies.address)]
            }
        }
    }

    @LoopActor private func withClient<Value>(
        _ paths: [String], checkInterval: Duration = .seconds(5),
        _ body: @LoopActor (RedisFailoverClient) async throws -> Value
    ) async throws -> Value {
        let addresses = paths.map { RedisAddress.unix(path: $0) }
        var server = RedisConnection.Options(address: addresses[0])
        server.timeout = .milliseconds(200)
        var options = RedisFailoverClient.Options(
            sentinels: RedisSentinels.Options(addresses: addresses, master: "main"), server: server,
            trialKey: "trial")
        options.checkInterval = checkInterval
        let client = RedisFailoverClient(options: options)
        defer { client.close() }
        return try await body(client)
    }

    private static func servers(_ count: Int) throws -> [RedisSentinelServers] {
        try (0..<count).map { _ in try RedisSentinelServers(replicas: 0, sentinels: 0) }
    }

    @Test @LoopActor func `a promotion of a server that the master has not named as its replica is not believed`()
        async throws
    {
        let servers = try await onThread { try Self.servers(2) }
        let (master, other) = (servers[0].servers[0], servers[1].servers[0])
        let folder = try TemporaryFolder()
        let scripts = try (0..<3).map { number in
            try Self.sentinel(
                at: folder["\(number).sock"], Voice(master),
                published: number == 0
                    ? ("+promoted-slave", "slave x 127.0.0.1 \(other) @ main 127.0.0.1 \(master)") : nil)
        }
        try await withClient((0..<3).map { folder["\($0).sock"] }) { client in
            #expect(await becomes { client.isReady })
            for _ in 0..<100 {
                #expect(client.masterPort == master)
                try await LoopActor.sleep(for: .milliseconds(10))
            }
        }
        withExtendedLifetime((scripts, servers)) {}
    }

    @Test @LoopActor
    func `a replica that is told to be the master is tried until it is, while the former one works`() async throws {
        let servers = try await onThread { try RedisSentinelServers(replicas: 1, sentinels: 0) }
        let (master, replica) = (servers.servers[0], servers.servers[1])
        let folder = try TemporaryFolder()
        let scripts = try (0..<3).map { number in
            try Self.sentinel(
                at: folder["\(number).sock"], Voice(master),
                published: number == 0
                    ? ("+promoted-slave", "slave x 127.0.0.1 \(replica) @ main 127.0.0.1 \(master)") : nil)
        }
        // No other round would find it.
        try await withClient((0..<3).map { folder["\($0).sock"] }, checkInterval: .seconds(3600)) { client in
            #expect(await becomes { client.isReady && client.replicas.count == 1 })
            #expect(client.masterPort == master)
            try await withRedis("") {
                $0.address = .internet(host: "127.0.0.1", port: replica)
            } _: { redis in
                // The master names it no longer.
                _ = try await redis.send(RedisCommand(["REPLICAOF", "NO", "ONE"]))
            }
            #expect(await becomes { client.masterPort == replica && client.isReady })
        }
        withExtendedLifetime((scripts, servers)) {}
    }

    @Test @LoopActor
    func `one sentinel alone does not take a master away that was lost for a moment, until it knows more`()
        async throws
    {
        let servers = try await onThread { try Self.servers(2) }
        let (master, other) = (servers[0].servers[0], servers[1].servers[0])
        let folder = try TemporaryFolder()
        let voice = Voice(other, epoch: 3)
        let alone = try Self.sentinel(at: folder["0.sock"], voice)
        var others = try [1, 2].map { try Self.sentinel(at: folder["\($0).sock"], Voice(master, epoch: 3)) }
        try await withClient((0..<3).map { folder["\($0).sock"] }) { client in
            #expect(await becomes { client.masterPort == master })
            // A round later its failover is known.
            try await LoopActor.sleep(for: .milliseconds(300))
            others = []
            for _ in 0..<5 {
                // On a connection of its own, which it does not end.
                _ = try? await withRedis("", timeout: .seconds(1)) {
                    $0.address = .internet(host: "127.0.0.1", port: master)
                } _: { redis in
                    try await redis.send(RedisCommand(["CLIENT", "KILL", "TYPE", "normal"]))
                }
                try await LoopActor.sleep(for: .milliseconds(100))
                #expect(client.masterPort == master)
            }
            // Of a later failover it knows what the others would say.
            voice.name(other, epoch: 4)
            servers[0].kill(master)
            #expect(await becomes { client.masterPort == other && client.isReady })
        }
        withExtendedLifetime((alone, others, servers)) {}
    }

    @Test(arguments: [true, false])
    @LoopActor func `one sentinel that knows of a later failover takes a master away that lacks replicas, and no other`(
        lacksReplicas: Bool
    ) async throws {
        let servers = try await onThread { try Self.servers(2) }
        let (master, other) = (servers[0].servers[0], servers[1].servers[0])
        let folder = try TemporaryFolder()
        let voice = Voice(master, epoch: 3)
        let alone = try Self.sentinel(at: folder["0.sock"], voice)
        var others = try [1, 2].map { try Self.sentinel(at: folder["\($0).sock"], Voice(master, epoch: 3)) }
        try await withClient((0..<3).map { folder["\($0).sock"] }, checkInterval: .milliseconds(100)) { client in
            #expect(await becomes { client.masterPort == master })
            try await LoopActor.sleep(for: .milliseconds(300))
            others = []
            if lacksReplicas {
                try await withRedis("") {
                    $0.address = .internet(host: "127.0.0.1", port: master)
                } _: { redis in
                    _ = try await redis.send(RedisCommand(["CONFIG", "SET", "min-replicas-to-write", "1"]))
                }
            }
            voice.name(other, epoch: 4)
            if lacksReplicas {
                #expect(await becomes { client.masterPort == other && client.isReady })
            } else {
                try await LoopActor.sleep(for: .seconds(1))
                #expect(client.masterPort == master && client.isReady)
            }
        }
        withExtendedLifetime((alone, others, servers)) {}
    }

    @Test @LoopActor func `a sentinel that closes each connection behind its response is not called in a loop`()
        async throws
    {
        let servers = try await onThread { try Self.servers(1) }
        let folder = try TemporaryFolder()
        let script = try Self.sentinel(
            at: folder["0.sock"], Voice(servers[0].servers[0]), endsAfterVote: true)
        try await withClient([folder["0.sock"]]) { client in
            #expect(await becomes { client.isReady })
            let before = script.connections
            try await LoopActor.sleep(for: .seconds(1))
            // Each round takes 20 ms at least, and one connection.
            #expect(script.connections - before <= 60)
        }
        withExtendedLifetime(servers) {}
    }
}

/// Texts, as Redis writes them.
private func array(_ texts: String...) -> String {
    "*\(texts.count)\r\n" + texts.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
}
