import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Synchronization
import Testing

/// One connection is lost while Redis is up: idle timeouts, `CLIENT KILL`, a proxy's restart.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RedisLossTests {
    private static let count = RedisRequest(
        RedisScript(source: "return 1", digest: "0").call(keys: ["n"], arguments: []), mayRepeat: true)

    @Test @LoopActor func `sends a count again whose reply was lost, but nothing that must not be done twice`()
        async throws
    {
        let folder = try TemporaryFolder()
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, connection in
            switch command[0] {
            case "PING": [.reply("+PONG\r\n")]
            case "EVALSHA" where connection > 0: [.reply(":7\r\n")]
            case "GET": [.reply("$-1\r\n")]
            default: [.end]
            }
        }
        try await withRedis(folder["r.sock"]) {
            $0.retryInterval = .seconds(30)
        } _: { redis in
            var repeats = 0
            redis.onRepeat = { repeats += 1 }
            // A connection that has been of use.
            #expect(await redis.outcome("GET", "k") == .success(.null))
            let line = LoopActor.spawn { await redis.outcome("XADD", "s", "*", "line", "x") }
            let counted = LoopActor.spawn { await redis.outcomes(Self.count) }
            #expect(await line.value == .failure(.interrupted))
            #expect(await counted.value == [.success(.integer(7))])
            #expect(repeats == 1)
            #expect(server.connections == 2)
        }
    }

    @Test @LoopActor func `sends nothing a third time`() async throws {
        let folder = try TemporaryFolder()
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, _ in
            switch command[0] {
            case "PING": [.reply("+PONG\r\n")]
            case "GET": [.reply("$-1\r\n")]
            default: [.end]
            }
        }
        try await withRedis(folder["r.sock"]) { redis in
            #expect(await redis.outcome("GET", "k") == .success(.null))
            #expect(await redis.outcomes(Self.count) == [.failure(.interrupted)])
        }
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [true, false])
    @LoopActor func `a request that comes while it connects again waits for that, no longer than it may`(
        isInTime: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        let answer = Latch()
        defer { if !isInTime { answer.open() } }
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, connection in
            switch command[0] {
            case "PING": connection == 0 ? [.reply("+PONG\r\n")] : [.wait(answer), .reply("+PONG\r\n")]
            case "QUIT": [.end]
            default: [.reply(":\(connection)\r\n")]
            }
        }
        try await withRedis(folder["r.sock"], timeout: isInTime ? .seconds(5) : .milliseconds(300)) { redis in
            #expect(await redis.outcome("INCR", "n") == .success(.integer(0)))
            #expect(await redis.outcome("QUIT") == .failure(.interrupted))
            let start = ContinuousClock.now
            let waiting = LoopActor.spawn { await redis.outcome("INCR", "n") }
            if isInTime {
                while server.connections < 2 { try await LoopActor.sleep(for: .milliseconds(1)) }
                answer.open()
                #expect(await waiting.value == .success(.integer(1)))
            } else {
                #expect(await waiting.value == .failure(.unavailable))
                #expect(ContinuousClock.now - start >= .milliseconds(300))
                // Once that is known, nothing waits.
                let next = ContinuousClock.now
                #expect(await redis.outcome("INCR", "n") == .failure(.unavailable))
                #expect(ContinuousClock.now - next < .milliseconds(200))
            }
        }
    }

    @Test @LoopActor func `a request that comes after a reply that was late does not wait for another connection`()
        async throws
    {
        let folder = try TemporaryFolder()
        let silence = Latch()
        defer { silence.open() }
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, connection in
            switch command[0] {
            case "PING": connection == 0 ? [.reply("+PONG\r\n")] : [.wait(silence)]
            case "GET": [.wait(silence)]
            default: [.reply(":1\r\n")]
            }
        }
        try await withRedis(folder["r.sock"], timeout: .seconds(1)) { redis in
            #expect(await redis.outcome("INCR", "n") == .success(.integer(1)))
            #expect(await redis.outcome("GET", "k") == .failure(.timeout))
            let start = ContinuousClock.now
            #expect(await redis.outcome("INCR", "n") == .failure(.unavailable))
            #expect(ContinuousClock.now - start < .milliseconds(500))
        }
        withExtendedLifetime(server) {}
    }

    @Test @LoopActor func `moves to its spare connection when the other is killed by its id`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { other in
            try await withRedis(server.path) {
                $0.keepsSpare = true
                $0.retryInterval = .seconds(30)
            } _: { redis in
                var numbers: Set<Int> = []
                var repeats = 0
                redis.onRepeat = { repeats += 1 }
                while try await clients(other).count < 3 { try await LoopActor.sleep(for: .milliseconds(1)) }
                for _ in 1...20 {
                    guard case .success(.integer(let id)) = await redis.outcome("CLIENT", "ID") else {
                        return _ = Issue.record("no id")
                    }
                    numbers.insert(id)
                    #expect(await other.outcome("CLIENT", "KILL", "ID", String(id)) == .success(.integer(1)))
                    let counts = (0..<20).map { _ in
                        LoopActor.spawn {
                            await redis.outcomes(RedisRequest(RedisCommand(["INCR", "n"]), mayRepeat: true))
                        }
                    }
                    for count in counts {
                        guard case .success(.integer)? = await count.value.first else {
                            return _ = Issue.record("refused")
                        }
                    }
                }
                #expect(numbers.count == 20)
                guard case .success(.text(let text)) = await redis.outcome("GET", "n") else {
                    return _ = Issue.record("no count")
                }
                // Each at least once, and no more often than is told.
                let counted = try #require(Int(String(decoding: text, as: UTF8.self)))
                #expect(counted >= 400 && counted <= 400 + repeats)
            }
        }
    }

    @Test @LoopActor func `notices a silent server without a request`() async throws {
        let folder = try TemporaryFolder()
        let never = Latch()
        defer { never.open() }
        let isGreeted = Atomic(false)
        let server = try ScriptedRedis(path: folder["r.sock"]) { _, connection in
            connection == 0 && isGreeted.exchange(true, ordering: .relaxed) ? [.wait(never)] : [.reply("+PONG\r\n")]
        }
        try await withRedis(folder["r.sock"], timeout: .milliseconds(40)) {
            $0.keepAliveInterval = .milliseconds(20)
        } _: { redis in
            while server.connections < 2 { try await LoopActor.sleep(for: .milliseconds(1)) }
            #expect(await redis.becomesReady(within: .seconds(5)))
        }
    }

    @LoopActor private func clients(_ redis: RedisConnection) async throws -> [Substring] {
        guard case .text(let text) = try await redis.send(RedisCommand(["CLIENT", "LIST"])) else { return [] }
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
    }
}
