import CloakroomLoop
import CloakroomTestSupport
import Synchronization
import Testing

@testable import CloakroomRedis

/// Sentinel and servers are scripts, so that each step of a failover is the test's own.
@Suite(.onLoop, .serialized, .timeLimit(.minutes(2)))
struct ScriptedFailoverTests {
    /// A server that says that it is a master.
    private final class Master: Sendable {
        private let state = Mutex<(replicas: [UInt16], roles: Int)>(([], 0))
        private let process: String?

        /// - Parameter process: what `INFO` says; `nil` to refuse that.
        init(process: String? = nil) { self.process = process }

        func name(_ replicas: [UInt16]) { state.withLock { $0.replicas = replicas } }

        /// How often it has said so.
        var roles: Int { state.withLock { $0.roles } }

        private func role() -> String {
            let replicas = state.withLock { state in
                state.roles += 1
                return state.replicas
            }
            return "*3\r\n$6\r\nmaster\r\n:0\r\n*\(replicas.count)\r\n"
                + replicas.map { array("127.0.0.1", "\($0)", "0") }.joined()
        }

        func server() throws -> ScriptedRedis {
            try ScriptedRedis { [self] command, _ in
                switch command.first {
                case "PING": [.reply("+PONG\r\n")]
                case "ROLE": [.reply(role())]
                case "GET": [.reply(text("value"))]
                case "QUIT": [.end]
                // A walk that never ends.
                case "SCAN": [.reply("*2\r\n" + text("7") + array("a"))]
                case "INFO":
                    [.reply(process.map { text("# Server\r\nrun_id:\($0)\r\n") } ?? "-NOPERM no permissions\r\n")]
                default: [.reply("+OK\r\n")]
                }
            }
        }
    }

    /// One that names a master, and counts how often.
    private final class Sentinel: Sendable {
        private let count = Mutex(0)
        private let other = Mutex<UInt16?>(nil)

        /// Has it name another master.
        func name(_ master: UInt16) { other.withLock { $0 = master } }

        var votes: Int { count.withLock { $0 } }

        /// - Parameter promotion: is published when the latch opens: of which port.
        func server(
            at path: String, naming master: UInt16, promotion: (latch: Latch, port: UInt16)? = nil
        ) throws -> ScriptedRedis {
            try ScriptedRedis(path: path) { [self] command, _ in
                switch command.first {
                case "PING": return [.reply("+PONG\r\n")]
                case "SUBSCRIBE":
                    let subscribed = ScriptedRedis.Step.reply("*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n")
                    let channel = command[1].lowercased()
                    guard let promotion, channel == "+promoted-slave" else { return [subscribed] }
                    let text = "slave x 127.0.0.1 \(promotion.port) @ main 127.0.0.1 \(master)"
                    return [subscribed, .wait(promotion.latch), .reply(array("message", channel, text))]
                case "SENTINEL" where command[1] == "MASTER":
                    count.withLock { $0 += 1 }
                    return [.reply(array("config-epoch", "1"))]
                default: return [.reply(array("127.0.0.1", "\(other.withLock { $0 } ?? master)"))]
                }
            }
        }
    }

    /// - Parameters:
    ///   - checkInterval: by default so long that a master is looked for only when there is a reason to.
    ///   - replicasInterval: by default so long that the master is not looked at in between.
    @LoopActor private func withClient<Value>(
        _ path: String, checkInterval: Duration = .seconds(3600), replicasInterval: Duration = .seconds(3600),
        _ body: @LoopActor (RedisFailoverClient) async throws -> Value
    ) async throws -> Value {
        let address = RedisAddress.unix(path: path)
        var server = RedisConnection.Options(address: address)
        server.timeout = .seconds(5)
        // A script ends a connection on which nothing comes for ten seconds, and then the master is looked for.
        server.keepAliveInterval = .seconds(5)
        var options = RedisFailoverClient.Options(
            sentinels: RedisSentinels.Options(addresses: [address], master: "main"), server: server,
            trialKey: "trial")
        options.sentinels.keepAliveInterval = .seconds(5)
        options.checkInterval = checkInterval
        options.replicasInterval = replicasInterval
        options.retryInterval = .milliseconds(20)
        let client = RedisFailoverClient(options: options)
        defer { client.close() }
        return try await body(client)
    }

    /// Waits for a round of votes, and until the client pauses after it. It has to look at the master every 100 ms.
    ///
    /// - Parameter votes: how many there are with that round; two are of the beginning.
    @LoopActor private static func pauses(after votes: Int, _ sentinel: Sentinel, _ master: Master) async -> Bool {
        guard await becomes({ sentinel.votes >= votes }) else { return false }
        // Two of the next three looks are 50 ms apart at least: by then the 20 ms between two rounds are over.
        let roles = master.roles
        return await becomes { master.roles >= roles + 3 }
    }

    @LoopActor private static func votes(above votes: Int, _ sentinel: Sentinel) async -> Bool {
        await becomes { sentinel.votes > votes }
    }

    @Test @LoopActor func `what waits for a master goes to the one that is found, which is told`() async throws {
        let folder = try TemporaryFolder()
        let master = try Master().server()
        let sentinel = try Sentinel().server(at: folder["s"], naming: master.port)
        try await withClient(folder["s"]) { client in
            var told: [RedisAddress] = []
            client.onMaster = { told.append($0) }
            #expect(client.currentServers == [] && !client.isReady)
            #expect(await client.outcome("GET", "k") == .success(.text(Array("value".utf8))))
            let address = RedisAddress.internet(host: "127.0.0.1", port: master.port)
            #expect(client.currentServers == [address] && told == [address])
        }
        withExtendedLifetime((master, sentinel)) {}
    }

    @Test @LoopActor func `a master that is lost is looked for again and again, however seldom one that works is`()
        async throws
    {
        let folder = try TemporaryFolder()
        let (master, sentinel) = (try Master().server(), Sentinel())
        let script = try sentinel.server(at: folder["s"], naming: master.port)
        try await withClient(folder["s"]) { client in
            #expect(await becomes { client.isReady })
            master.stop()
            #expect(await becomes { !client.isReady })
            let before = sentinel.votes
            #expect(await becomes { sentinel.votes >= before + 5 })
        }
        withExtendedLifetime(script) {}
    }

    @Test @LoopActor func `the master is looked for at once each time that the connection to it is lost`()
        async throws
    {
        let folder = try TemporaryFolder()
        let (master, sentinel) = (try Master().server(), Sentinel())
        let script = try sentinel.server(at: folder["s"], naming: master.port)
        try await withClient(folder["s"]) { client in
            // More often than there are rounds at the beginning.
            for _ in 0..<6 {
                #expect(await becomes { client.isReady })
                #expect(await client.outcome("GET", "k") == .success(.text(Array("value".utf8))))
                let before = sentinel.votes
                #expect(await client.outcome("QUIT") == .failure(.interrupted))
                guard await Self.votes(above: before, sentinel) else { return _ = Issue.record("not looked for") }
            }
        }
        withExtendedLifetime((master, script)) {}
    }

    @Test @LoopActor func `a client that is closed ends at once, however long its pause would have been`()
        async throws
    {
        let folder = try TemporaryFolder()
        let (master, sentinel) = (Master(), Sentinel())
        let server = try master.server()
        let script = try sentinel.server(at: folder["s"], naming: server.port)
        weak var closed: RedisFailoverClient?
        try await withClient(folder["s"], replicasInterval: .milliseconds(100)) { client in
            closed = client
            #expect(await Self.pauses(after: 2, sentinel, master))
            #expect(client.isReady)
        }
        #expect(await becomes { closed == nil })
        withExtendedLifetime((server, script)) {}
    }

    @Test @LoopActor func `a promotion is looked into at once, and the promoted server is tried`()
        async throws
    {
        let folder = try TemporaryFolder()
        let (former, published) = (Master(), Latch())
        let (master, promoted) = (try former.server(), try Master().server())
        let sentinel = try Sentinel().server(
            at: folder["s"], naming: master.port, promotion: (published, promoted.port))
        try await withClient(folder["s"]) { client in
            // Once to try it, and once for its replicas, of which it has none yet.
            #expect(await becomes { client.isReady && former.roles >= 2 })
            // The rounds of the beginning are over, and none comes by itself.
            try await LoopActor.sleep(for: .milliseconds(300))
            #expect(client.masterPort == master.port)
            former.name([promoted.port])
            published.open()
            #expect(await becomes { client.masterPort == promoted.port && client.isReady })
        }
        withExtendedLifetime((master, promoted, sentinel)) {}
    }

    @Test @LoopActor func `a promoted server is tried as soon as the master names it as its replica`() async throws {
        let folder = try TemporaryFolder()
        let (former, sentinel, published) = (Master(), Sentinel(), Latch())
        let (master, promoted) = (try former.server(), try Master().server())
        let script = try sentinel.server(
            at: folder["s"], naming: master.port, promotion: (published, promoted.port))
        try await withClient(folder["s"], replicasInterval: .milliseconds(100)) { client in
            #expect(await Self.pauses(after: 2, sentinel, former))
            let votes = sentinel.votes
            published.open()
            // The promotion is not believed yet, and no other round comes by itself.
            #expect(await Self.pauses(after: votes + 1, sentinel, former))
            #expect(client.masterPort == master.port)
            former.name([promoted.port])
            #expect(await becomes { client.masterPort == promoted.port && client.isReady })
        }
        withExtendedLifetime((master, promoted, script)) {}
    }

    // MARK: Keys

    @Test(arguments: [("a", "b"), (nil, nil)] as [(String?, String?)]) @LoopActor
    func `a walk through the keys ends when another server is the master`(first: String?, second: String?) async throws
    {
        let folder = try TemporaryFolder()
        let (master, other) = (try Master(process: first).server(), try Master(process: second).server())
        let sentinel = Sentinel()
        let script = try sentinel.server(at: folder["s"], naming: master.port)
        try await withClient(folder["s"], checkInterval: .milliseconds(20)) { client in
            #expect(await becomes { client.isReady })
            let (keys, next) = try await client.scan(from: "0", matching: "*")
            #expect(keys == ["a"])
            #expect(try await client.scan(from: next, matching: "*").next == next)
            sentinel.name(other.port)
            #expect(await becomes { client.masterPort == other.port && client.isReady })
            await #expect(throws: RedisError.refused(code: "NOCURSOR")) {
                _ = try await client.scan(from: next, matching: "*")
            }
            #expect(try await client.scan(from: "0", matching: "*").keys == ["a"])
        }
        withExtendedLifetime((master, other, script)) {}
    }

    @Test @LoopActor func `a walk through the keys ends when another server was the master for a while`() async throws {
        let folder = try TemporaryFolder()
        let (master, other) = (try Master().server(), try Master().server())
        let sentinel = Sentinel()
        let script = try sentinel.server(at: folder["s"], naming: master.port)
        try await withClient(folder["s"], checkInterval: .milliseconds(20)) { client in
            #expect(await becomes { client.isReady })
            let next = try await client.scan(from: "0", matching: "*").next
            for port in [other.port, master.port] {
                sentinel.name(port)
                #expect(await becomes { client.masterPort == port && client.isReady })
            }
            await #expect(throws: RedisError.refused(code: "NOCURSOR")) {
                _ = try await client.scan(from: next, matching: "*")
            }
        }
        withExtendedLifetime((master, other, script)) {}
    }

    @Test(arguments: [("a", "b"), (nil, nil)] as [(String?, String?)]) @LoopActor
    func `another process goes on with a walk, unless another server is the master`(
        first: String?, second: String?
    ) async throws {
        let folder = try TemporaryFolder()
        let (master, other) = (try Master(process: first).server(), try Master(process: second).server())
        let sentinel = Sentinel()
        let script = try sentinel.server(at: folder["s"], naming: master.port)
        let next = try await withClient(folder["s"]) { client in
            #expect(await becomes { client.isReady })
            return try await client.scan(from: "0", matching: "*").next
        }
        try await withClient(folder["s"]) { (client) async throws in
            #expect(await becomes { client.isReady })
            #expect(try await client.scan(from: next, matching: "*").next == next)
            // Of which server a number alone is cannot be told.
            await #expect(throws: RedisError.refused(code: "MALFORMED")) {
                _ = try await client.scan(from: "7", matching: "*")
            }
        }
        sentinel.name(other.port)
        try await withClient(folder["s"]) { client in
            #expect(await becomes { client.isReady })
            await #expect(throws: RedisError.refused(code: "NOCURSOR")) {
                _ = try await client.scan(from: next, matching: "*")
            }
        }
        withExtendedLifetime((master, other, script)) {}
    }
}

/// Texts, as Redis writes them.
private func array(_ texts: String...) -> String {
    "*\(texts.count)\r\n" + texts.map { text($0) }.joined()
}

private func text(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }
