import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Synchronization
import Testing

@testable import CloakroomRedis

/// Nodes of a cluster that respond late, differ, or refuse; each is a script.
@Suite(.onLoop, .serialized, .timeLimit(.minutes(1)))
struct UntrueClusterTests {
    /// What the nodes say, and what they were asked.
    private final class Words: Sendable {
        private struct State {
            var ports: [UInt16] = []
            /// By node: the ports of the primaries that it names, in the order of their slots.
            var maps: [Int: [UInt16]] = [:]
            var counts: [String: Int] = [:]
        }

        private let state = Mutex(State())

        var ports: [UInt16] { state.withLock { $0.ports } }

        fileprivate func add(_ port: UInt16) { state.withLock { $0.ports.append(port) } }

        fileprivate func count(_ key: String) { state.withLock { $0.counts[key, default: 0] += 1 } }

        /// How often a node got a command.
        func count(_ node: Int, _ command: String) -> Int { state.withLock { $0.counts["\(node) \(command)"] ?? 0 } }

        /// Has some nodes name these primaries.
        func name(_ primaries: [UInt16], by nodes: [Int]? = nil) {
            state.withLock { state in
                for node in nodes ?? Array(state.ports.indices) { state.maps[node] = primaries }
            }
        }

        /// The reply to `CLUSTER SLOTS`.
        fileprivate func slots(by node: Int) -> String {
            let primaries = state.withLock { $0.maps[node] ?? [] }
            let ranges = primaries.enumerated().map { index, port in
                let first = HashSlot.count * index / primaries.count
                let last = HashSlot.count * (index + 1) / primaries.count - 1
                return "*3\r\n:\(first)\r\n:\(last)\r\n*2\r\n\(text("127.0.0.1")):\(port)\r\n"
            }
            return "*\(ranges.count)\r\n" + ranges.joined()
        }
    }

    /// Of a node, for what is neither of a handshake nor about the map.
    private typealias Script = @Sendable (Words, [String]) -> [ScriptedRedis.Step]

    /// Nodes on loopback ports.
    private final class Nodes: Sendable {
        let words = Words()
        private let servers: [ScriptedRedis]

        /// - Parameter handshakeDelay: seconds.
        init(handshakeDelay: TimeInterval = 0, _ scripts: Script...) throws {
            let words = words
            servers = try scripts.enumerated().map { number, script in
                try ScriptedRedis { command, _ in
                    words.count("\(number) \(command[0])")
                    switch command[0] {
                    case "PING":
                        Thread.sleep(forTimeInterval: handshakeDelay)
                        return [.reply("+PONG\r\n")]
                    case "CLUSTER" where command[1] == "SLOTS": return [.reply(words.slots(by: number))]
                    case "CLUSTER":
                        let info = "cluster_state:ok\r\ncluster_current_epoch:\(number)\r\n"
                        return [.reply(UntrueClusterTests.text(info))]
                    case "ASKING": return [.reply("+OK\r\n")]
                    default: return script(words, command)
                    }
                }
            }
            for server in servers { words.add(server.port) }
        }

        var ports: [UInt16] { words.ports }

        func name(_ primaries: [UInt16], by nodes: [Int]? = nil) { words.name(primaries, by: nodes) }

        func count(_ node: Int, _ command: String) -> Int { words.count(node, command) }

        func connections(to node: Int) -> Int { servers[node].connections }

        /// Takes no connections any longer, and ends those there are.
        func stop() { for server in servers { server.stop() } }
    }

    private static func text(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

    private static let one: Script = { _, _ in [.reply(":1\r\n")] }

    @LoopActor private func withClient<Value>(
        _ ports: [UInt16], timeout: Duration = .milliseconds(40), checkInterval: Duration = .seconds(10),
        _ body: @LoopActor (RedisClusterClient) async throws -> Value
    ) async throws -> Value {
        let addresses = ports.map { RedisAddress.internet(host: "127.0.0.1", port: $0) }
        var server = RedisConnection.Options(address: addresses[0])
        server.timeout = timeout
        var options = RedisClusterClient.Options(nodes: addresses, server: server)
        options.checkInterval = checkInterval
        let client = RedisClusterClient(options: options)
        defer { client.close() }
        return try await body(client)
    }

    private static func key(inHalf half: Int) -> String {
        (0...).lazy.map { "key:\($0)" }.first { HashSlot(of: Array($0.utf8)).number * 2 / HashSlot.count == half }!
    }

    // MARK: The map

    @Test @LoopActor func `a configured node tells of the new primaries when all of more than five are elsewhere`()
        async throws
    {
        let nodes = try Nodes(Self.one)
        let gone = try await onThread { try (0..<6).map { _ in try Nodes(Self.one) } }
        nodes.name(gone.map { $0.ports[0] })
        for node in gone { node.name(gone.map { $0.ports[0] }) }
        try await withClient(nodes.ports) { client in
            #expect(await becomes { client.servers.count == 6 && client.servers.allSatisfy(\.connection.isReady) })
            nodes.name(nodes.ports)
            for node in gone { node.stop() }
            #expect(await becomes { client.servers.count == 1 })
            #expect(await client.outcome("INCR", "a") == .success(.integer(1)))
        }
    }

    @Test @LoopActor func `is ready also where a connection takes longer than a reply may`() async throws {
        let late = try Nodes(handshakeDelay: 0.15, Self.one)
        late.name(late.ports)
        try await withClient(late.ports) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            #expect(await client.outcome("INCR", "a") == .success(.integer(1)))
        }
    }

    @Test @LoopActor func `one node does not decide who has the slots, whatever epoch it says`() async throws {
        // Of these the last says the latest epoch.
        let nodes = try Nodes(Self.one, Self.one, Self.one)
        let ports = nodes.ports
        nodes.name([ports[0]], by: [0, 1])
        nodes.name([ports[2]], by: [2])
        try await withClient(ports) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            #expect(client.servers.map(\.address) == [.internet(host: "127.0.0.1", port: ports[0])])
        }
    }

    @Test @LoopActor func `a right that the user lacks is told`() async throws {
        let server = try ScriptedRedis { command, _ in
            switch command[0] {
            case "PING": [.reply("+PONG\r\n")]
            case "CLUSTER" where command[1] == "INFO":
                [.reply("-NOPERM User default has no permissions to run the 'cluster|info' command\r\n")]
            default: [.reply("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:1\r\n")]
            }
        }
        try await withClient([server.port]) { client in
            #expect(await becomes { client.refusal == .refused(code: "NOPERM") })
        }
    }

    @Test @LoopActor func `a walk through the keys ends when slots have got other servers`() async throws {
        let page: Script = { _, _ in [.reply("*2\r\n$1\r\n7\r\n*1\r\n$1\r\na\r\n")] }
        let nodes = try Nodes(page, page)
        nodes.name(nodes.ports)
        try await withClient(nodes.ports, checkInterval: .milliseconds(50)) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            let (keys, next) = try await client.scan(from: "0", matching: "*")
            #expect(keys == ["a"])
            nodes.name([nodes.ports[1]])
            #expect(await becomes { client.servers.count == 1 })
            await #expect(throws: RedisError.refused(code: "MOVED")) {
                _ = try await client.scan(from: next, matching: "*")
            }
        }
    }

    @Test @LoopActor func `another process goes on with a walk, unless slots have got other servers`() async throws {
        let page: Script = { _, _ in [.reply("*2\r\n$1\r\n7\r\n*1\r\n$1\r\na\r\n")] }
        let nodes = try Nodes(page, page)
        nodes.name(nodes.ports)
        let next = try await withClient(nodes.ports, timeout: .seconds(2)) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            return try await client.scan(from: "0", matching: "*").next
        }
        try await withClient(nodes.ports, timeout: .seconds(2)) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            let (keys, last) = try await client.scan(from: next, matching: "*")
            #expect(keys == ["a"] && last == next)
        }
        nodes.name(nodes.ports.reversed())
        try await withClient(nodes.ports, timeout: .seconds(2)) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            await #expect(throws: RedisError.refused(code: "MOVED")) {
                _ = try await client.scan(from: next, matching: "*")
            }
        }
    }

    @Test @LoopActor func `a walk through the keys ends when slots were elsewhere for a while`() async throws {
        let script: Script = { _, command in
            [.reply(command[0] == "SCAN" ? "*2\r\n$1\r\n7\r\n*1\r\n$1\r\na\r\n" : ":1\r\n")]
        }
        let nodes = try Nodes(script, script)
        nodes.name(nodes.ports)
        let key = Self.key(inHalf: 0)
        try await withClient(nodes.ports, timeout: .seconds(2), checkInterval: .milliseconds(50)) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            let next = try await client.scan(from: "0", matching: "*").next
            for first in [1, 0] {
                nodes.name([nodes.ports[first], nodes.ports[1 - first]])
                let count = nodes.count(first, "INCR")
                #expect(
                    await becomes {
                        _ = await client.outcome("INCR", key)
                        return nodes.count(first, "INCR") > count
                    })
            }
            await #expect(throws: RedisError.refused(code: "MOVED")) {
                _ = try await client.scan(from: next, matching: "*")
            }
        }
    }

    @Test @LoopActor func `a walk through the keys ends when a primary has restarted`() async throws {
        let process = Mutex("a")
        let nodes = try Nodes { _, command in
            guard command[0] == "INFO" else { return [.reply("*2\r\n$1\r\n7\r\n*1\r\n$1\r\na\r\n")] }
            return [.reply(Self.text("run_id:\(process.withLock { $0 })\r\n"))]
        }
        nodes.name(nodes.ports)
        try await withClient(nodes.ports, timeout: .seconds(2)) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            let next = try await client.scan(from: "0", matching: "*").next
            #expect(try await client.scan(from: next, matching: "*").next == next)
            process.withLock { $0 = "b" }
            await #expect(throws: RedisError.refused(code: "NOCURSOR")) {
                _ = try await client.scan(from: next, matching: "*")
            }
        }
    }

    // MARK: Requests

    @Test @LoopActor func `a part that is lost leaves the others' replies`() async throws {
        let held = Latch()
        defer { held.open() }
        let nodes = try Nodes(Self.one, { _, _ in [.wait(held)] })
        nodes.name(nodes.ports)
        let keys = (0..<2).map { Self.key(inHalf: $0) }
        try await withClient(nodes.ports, timeout: .milliseconds(200)) { client in
            #expect(await becomes { client.servers.count == 2 && client.servers.allSatisfy(\.connection.isReady) })
            func both(_ first: String, _ second: String) -> RedisRequest {
                RedisRequest(RedisCommand(["GET", first]), RedisCommand(["GET", second]), mayRepeat: true)
            }
            for (first, second) in [(0, 1), (1, 0)] {
                let outcomes = await client.outcomes(both(keys[first], keys[second]))
                try #require(outcomes.count == 2)
                #expect(outcomes[first] == .success(.integer(1)))
                #expect([.failure(.timeout), .failure(.unavailable)].contains(outcomes[second]))
            }
            #expect(await client.outcomes(both(keys[1], keys[1])).count == 1)
        }
    }

    @Test @LoopActor func `waits while two servers name each other`() async throws {
        let start = ContinuousClock.now
        let nodes = try Nodes(
            { words, _ in [.reply("-MOVED 1 127.0.0.1:\(words.ports[1])\r\n")] },
            { words, _ in
                ContinuousClock.now - start > .milliseconds(300)
                    ? [.reply(":1\r\n")] : [.reply("-MOVED 1 127.0.0.1:\(words.ports[0])\r\n")]
            })
        nodes.name([nodes.ports[0]])
        try await withClient(nodes.ports, timeout: .milliseconds(500)) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            let outcome = await client.outcome("INCR", "a")
            #expect(outcome == .success(.integer(1)))
            #expect(nodes.count(0, "INCR") + nodes.count(1, "INCR") < 12)
        }
    }

    @Test @LoopActor func `a refusal that goes on is told after half a second`() async throws {
        let nodes = try Nodes { _, _ in [.reply("-TRYAGAIN Multiple keys request during rehashing of slot\r\n")] }
        nodes.name(nodes.ports)
        try await withClient(nodes.ports) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            #expect(await client.outcome("INCR", "a") == .failure(.refused(code: "TRYAGAIN")))
            #expect((5...12).contains(nodes.count(0, "INCR")))
        }
    }

    @Test @LoopActor func `a server that a slot moves to keeps its connection, and no map is read for it`()
        async throws
    {
        let nodes = try Nodes({ words, _ in [.reply("-ASK 1 127.0.0.1:\(words.ports[1])\r\n")] }, Self.one)
        nodes.name([nodes.ports[0]])
        try await withClient([nodes.ports[0]], timeout: .seconds(2)) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            let maps = nodes.count(0, "CLUSTER")
            let end = ContinuousClock.now + .seconds(1)
            while ContinuousClock.now < end {
                #expect(await client.outcome("INCR", "a") == .success(.integer(1)))
                try? await LoopActor.sleep(for: .milliseconds(2))
            }
            #expect(nodes.connections(to: 1) == 1)
            // Two commands a map: one for the new connection, and one that was under way.
            #expect(nodes.count(0, "CLUSTER") - maps <= 6)
        }
    }

    @Test @LoopActor func `while all is redirected a map is read ten times a second`() async throws {
        let nodes = try Nodes({ words, _ in [.reply("-MOVED 1 127.0.0.1:\(words.ports[1])\r\n")] }, Self.one)
        nodes.name([nodes.ports[0]])
        try await withClient([nodes.ports[0]]) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            let maps = nodes.count(0, "CLUSTER")
            let end = ContinuousClock.now + .seconds(2)
            while ContinuousClock.now < end {
                #expect(await client.outcome("INCR", "a") == .success(.integer(1)))
                try? await LoopActor.sleep(for: .milliseconds(2))
            }
            #expect((nodes.count(0, "CLUSTER") - maps) / 2 <= 30)
        }
    }

    @Test @LoopActor func `what is refused while keys move goes to where its slot was, and nowhere else`() async throws
    {
        let start = ContinuousClock.now
        let nodes = try Nodes(
            { words, _ in [.reply("-ASK 1 127.0.0.1:\(words.ports[2])\r\n")] },
            // The slot is not this one's.
            { words, _ in [.reply("-MOVED 1 127.0.0.1:\(words.ports[0])\r\n")] },
            { _, _ in
                ContinuousClock.now - start < .milliseconds(200)
                    ? [.reply("-TRYAGAIN Multiple keys request during rehashing of slot\r\n")] : [.reply(":1\r\n")]
            })
        nodes.name([nodes.ports[0], nodes.ports[1]])
        let script = RedisScript(source: "return 1", digest: "2123456789012345678901234567890123456789")
        try await withClient([nodes.ports[0]], timeout: .milliseconds(200)) { client in
            #expect(await becomes { client.servers.count == 2 && client.servers.allSatisfy(\.connection.isReady) })
            let key = Self.key(inHalf: 0)
            let call = RedisRequest(script.call(keys: ["{\(key)}a", "{\(key)}b"], arguments: []), mayRepeat: true)
            #expect(await client.outcomes(call) == [.success(.integer(1))])
            #expect(nodes.count(1, "EVAL") + nodes.count(1, "EVALSHA") == 0)
        }
    }

    @Test @LoopActor func `a command that has to follow a call goes to where the call is redirected`() async throws {
        // The first has replicas of its own, which do not have what the second writes.
        let nodes = try Nodes(
            { words, command in
                [.reply(command[0] == "WAIT" ? ":2\r\n" : "-MOVED 1 127.0.0.1:\(words.ports[1])\r\n")]
            },
            { _, command in [.reply(command[0] == "WAIT" ? ":0\r\n" : ":1\r\n")] })
        nodes.name([nodes.ports[0]])
        let script = RedisScript(source: "return 1", digest: "3123456789012345678901234567890123456789")
        let call = RedisRequest(
            script.call(keys: ["a"], arguments: []), followedBy: RedisCommand(["WAIT", "2", "1000"], near: "a"))
        try await withClient([nodes.ports[0]], timeout: .seconds(2)) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            #expect(await client.outcomes(call) == [.success(.integer(1)), .success(.integer(0))])
        }
    }

    @Test @LoopActor func `a primary that was replaced still replies to what was sent before`() async throws {
        let held = Latch()
        let nodes = try Nodes({ _, _ in [.wait(held), .reply(":1\r\n")] }, Self.one, Self.one)
        // Which of the nodes is asked for the map must not wait for the reply that is held.
        nodes.name([nodes.ports[0]])
        try await withClient(
            [nodes.ports[1], nodes.ports[2]], timeout: .seconds(2), checkInterval: .milliseconds(50)
        ) { client in
            #expect(await client.becomesReady(within: .seconds(5)))
            let reply = LoopActor.spawn { await client.outcome("INCR", "a") }
            #expect(await becomes { nodes.count(0, "INCR") == 1 })
            nodes.name([nodes.ports[1]])
            let new = RedisAddress.internet(host: "127.0.0.1", port: nodes.ports[1])
            #expect(await becomes { client.servers.first?.address == new })
            try? await LoopActor.sleep(for: .milliseconds(300))
            held.open()
            #expect(await reply.value == .success(.integer(1)))
            #expect(nodes.count(0, "INCR") == 1 && nodes.count(1, "INCR") == 0)
        }
    }
}
