import Foundation
import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Testing

/// FAULTS row 2 on real servers: each refusal is told by its own word, and the connection is good again when it ends.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RedisRefusalTests {
    /// Asks until the outcome is the one, or five seconds are over.
    @LoopActor private func comes(_ expected: String, _ redis: RedisConnection, _ command: RedisCommand) async -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(5) {
            do throws(RedisError) {
                _ = try await redis.send(command)
                if expected == "success" { return true }
            } catch {
                if error.label == expected { return true }
            }
            try? await LoopActor.sleep(for: .milliseconds(5))
        }
        return false
    }

    private let increment = RedisCommand(["INCR", "n"])

    /// Two servers on ports, because a replica needs one of its primary's; tried until both ports were free.
    private struct Pair: Sendable {
        let folder: TemporaryFolder
        let primary: RedisServer
        let other: RedisServer
        let port: UInt16

        init() throws {
            folder = try TemporaryFolder()
            var made: (RedisServer, UInt16)?
            for _ in 0..<20 where made == nil {
                let port = UInt16.random(in: 20_000..<32_000)
                let options = ["--port", "\(port)", "--bind", "127.0.0.1"]
                made = (try? RedisServer(path: folder["one.sock"], options: options)).map { ($0, port) }
            }
            (primary, port) = try #require(made, "redis-server did not start")
            other = try RedisServer(path: folder["two.sock"])
        }
    }

    @Test @LoopActor func `leaves a replica, and is back within a second of the failover`() async throws {
        let pair = try await onThread { try Pair() }
        try await withRedis(pair.other.path) {
            $0.retryInterval = .milliseconds(250)
        } _: { redis in
            try await withRedis(pair.other.path) { operator_ in
                #expect(await comes("success", redis, increment))
                #expect(
                    await operator_.outcome("REPLICAOF", "127.0.0.1", "\(pair.port)") == .success(.status("OK")))
                #expect(await comes("readonly", redis, increment))
                // What comes meanwhile is told the same, and waits for nothing.
                let start = ContinuousClock.now
                #expect(await redis.outcome("INCR", "n") == .failure(.refused(code: "READONLY")))
                #expect(ContinuousClock.now - start < .milliseconds(100))
                #expect(await operator_.outcome("REPLICAOF", "NO", "ONE") == .success(.status("OK")))
                let failover = ContinuousClock.now
                #expect(await comes("success", redis, increment))
                #expect(ContinuousClock.now - failover < .seconds(1))
            }
        }
    }

    @Test @LoopActor func `tells that a replica has lost its primary`() async throws {
        let pair = try await onThread { try Pair() }
        try await withRedis(pair.other.path) { redis in
            try await withRedis(pair.other.path) { operator_ in
                _ = await operator_.outcome("CONFIG", "SET", "replica-serve-stale-data", "no")
                // Nobody listens there.
                #expect(await operator_.outcome("REPLICAOF", "127.0.0.1", "1") == .success(.status("OK")))
                #expect(await comes("masterdown", redis, RedisCommand(["GET", "n"])))
                _ = await operator_.outcome("REPLICAOF", "NO", "ONE")
                #expect(await comes("success", redis, RedisCommand(["GET", "n"])))
            }
        }
    }

    @Test @LoopActor func `tells that memory is full`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread {
            try RedisServer(path: folder["r.sock"], options: ["--maxmemory-policy", "noeviction"])
        }
        try await withRedis(server.path) { redis in
            _ = await redis.outcome("CONFIG", "SET", "maxmemory", "1")
            #expect(await redis.outcome("INCR", "n") == .failure(.refused(code: "OOM")))
            #expect(redis.isReady)
            _ = await redis.outcome("CONFIG", "SET", "maxmemory", "0")
            #expect(await redis.outcome("INCR", "n") == .success(.integer(1)))
        }
    }

    @Test @LoopActor func `tells that the data cannot be saved`() async throws {
        let folder = try TemporaryFolder()
        let dump = folder["dump.rdb"]
        let server = try await onThread {
            try RedisServer(
                path: folder["r.sock"],
                options: ["--dir", folder["."], "--dbfilename", "dump.rdb", "--stop-writes-on-bgsave-error", "yes"])
        }
        // No file takes the place of a folder, not even one of root's.
        try FileManager.default.createDirectory(atPath: dump, withIntermediateDirectories: false)
        try await withRedis(server.path) { redis in
            #expect(await redis.outcome("CONFIG", "SET", "save", "3600 1") == .success(.status("OK")))
            _ = await redis.outcome("BGSAVE")
            #expect(await comes("misconf", redis, increment))
            #expect(await redis.outcome("INCR", "n") == .failure(.refused(code: "MISCONF")))
            #expect(redis.isReady)
            try FileManager.default.removeItem(atPath: dump)
            _ = await redis.outcome("BGSAVE")
            #expect(await comes("success", redis, increment))
        }
    }

    @Test @LoopActor func `tells that a password is missing or wrong`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread {
            try RedisServer(path: folder["r.sock"], options: ["--requirepass", "right"])
        }
        for (password, label) in [(nil, "noauth"), ("wrong", "wrongpass"), ("right", "success")] as [(String?, String)]
        {
            try await withRedis(server.path) {
                $0.password = password
            } _: { redis in
                #expect(await comes(label, redis, increment))
                #expect(redis.isReady == (label == "success"))
            }
        }
    }

    @Test @LoopActor func `tells that there are too many clients`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { first in
            #expect(await first.outcome("CONFIG", "SET", "maxclients", "1") == .success(.status("OK")))
            try await withRedis(server.path) { redis in
                #expect(await comes("maxclients", redis, increment))
                #expect(await first.outcome("CONFIG", "SET", "maxclients", "10") == .success(.status("OK")))
                #expect(await comes("success", redis, increment))
            }
        }
    }

    @Test @LoopActor func `tells that a script keeps the server busy`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread {
            try RedisServer(path: folder["r.sock"], options: ["--lua-time-limit", "20"])
        }
        try await withRedis(server.path) { busy in
            try await withRedis(server.path, timeout: .milliseconds(40)) { redis in
                #expect(await comes("success", redis, increment))
                let endless = LoopActor.spawn { await busy.outcome("EVAL", "while true do end", "0") }
                #expect(await comes("busy", redis, increment))
                try await withRedis(server.path) { killer in
                    // SCRIPT KILL is one of the few that a busy server takes; PING is not.
                    #expect(await killer.outcome("GET", "n") == .failure(.refused(code: "BUSY")))
                }
                _ = try await onThread { try Program.run("redis-cli", ["-s", server.path, "SCRIPT", "KILL"]) }
                #expect(await comes("success", redis, increment))
                _ = await endless.value
            }
        }
    }

    @Test @LoopActor func `tells that a server is loading its data`() async throws {
        let folder = try TemporaryFolder()
        let path = folder["r.sock"]
        let options = [
            "--dir", folder["."], "--dbfilename", "dump.rdb", "--enable-debug-command", "yes",
            "--loading-process-events-interval-bytes", "1024",
        ]
        let server = try await onThread { try RedisServer(path: path, options: options) }
        try await withRedis(path) { redis in
            let fill = "for i = 1, 10000 do redis.call('SET', 'key' .. i, 'x') end"
            #expect(await redis.outcome("EVAL", fill, "0") == .success(.null))
            // Some seconds for what was written.
            #expect(await redis.outcome("CONFIG", "SET", "key-load-delay", "100") == .success(.status("OK")))
            #expect(await redis.outcome("SAVE") == .success(.status("OK")))
            let reload = LoopActor.spawn {
                _ = try? await onThread { try Program.run("redis-cli", ["-s", path, "DEBUG", "RELOAD", "NOSAVE"]) }
            }
            try await withRedis(path) { other in
                #expect(await comes("loading", other, increment))
                _ = await reload.value
                #expect(await comes("success", other, increment))
            }
        }
        withExtendedLifetime(server) {}
    }
}
