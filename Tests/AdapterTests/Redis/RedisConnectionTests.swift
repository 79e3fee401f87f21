import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Testing

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RedisConnectionTests {
    @Test @LoopActor func `gives every kind of answer`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            #expect(await redis.outcome("PING") == .success(.status("PONG")))
            #expect(await redis.outcome("SET", "k", "a\r\n\u{0}b") == .success(.status("OK")))
            #expect(await redis.outcome("GET", "k") == .success(.text(Array("a\r\n\u{0}b".utf8))))
            #expect(await redis.outcome("GET", "none") == .success(.null))
            #expect(await redis.outcome("INCR", "n") == .success(.integer(1)))
            #expect(await redis.outcome("INCR", "k") == .failure(.refused(code: "ERR")))
            #expect(await redis.outcome("LPUSH", "k", "x") == .failure(.refused(code: "WRONGTYPE")))
            #expect(
                await redis.outcome("EVAL", "return {1, {2, 'x', false}, {}}", "0")
                    == .success(
                        .array([.integer(1), .array([.integer(2), .text(Array("x".utf8)), .null]), .array([])])))
            let large = String(repeating: "x", count: 5_000_000)
            #expect(await redis.outcome("SET", "large", large) == .success(.status("OK")))
            #expect(await redis.outcome("GET", "large") == .success(.text(Array(large.utf8))))
            #expect(redis.isReady)
        }
    }

    @Test @LoopActor func `has ten thousand commands on the way at once, each with its own answer`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            #expect(await redis.outcome("PING") == .success(.status("PONG")))
            let tasks = (0..<10_000).map { _ in LoopActor.spawn { await redis.outcome("INCR", "n") } }
            var answers: [Result<RedisReply, RedisError>] = []
            for task in tasks { answers.append(await task.value) }
            #expect(answers == (1...10_000).map { .success(.integer($0)) })
        }
    }

    @Test @LoopActor func `sends a script whole when the server has forgotten it`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let call = RedisScript(
            source: "return redis.call('INCRBY', KEYS[1], ARGV[1])", digest: "6cc3b5a0fb8b8e0fa4e0e1f6d7c1d5e3a7a3c0de"
        ).call(keys: ["n"], arguments: ["2"])
        try await withRedis(server.path) { redis in
            // The digest is none of this script's: every run finds it unknown.
            let first = try await redis.run(call)
            #expect(first == .integer(2))
            let second = try await redis.run(call)
            #expect(second == .integer(4))
            #expect(await redis.outcome("SCRIPT", "FLUSH") == .success(.status("OK")))
            let third = try await redis.run(call)
            #expect(third == .integer(6))
        }
    }

    @Test @LoopActor func `logs in and chooses its database`() async throws {
        let folder = try TemporaryFolder()
        let options = ["--requirepass", "pass", "--user", "worker", "on", ">word", "~*", "+@all"]
        let server = try await onThread { try RedisServer(path: folder["r.sock"], options: options) }
        for (username, password) in [(nil, "pass"), ("worker", "word")] {
            try await withRedis(server.path) { options in
                (options.username, options.password, options.database) = (username, password, 3)
            } _: { redis in
                #expect(await redis.outcome("SET", "k", "v") == .success(.status("OK")))
                let clients = await redis.outcome("CLIENT", "INFO")
                guard case .success(.text(let text)) = clients else { return _ = Issue.record("\(clients)") }
                #expect(String(decoding: text, as: UTF8.self).contains(" db=3 "))
            }
        }
        try await withRedis(server.path, timeout: .milliseconds(100)) {
            $0.password = "wrong"
        } _: { redis in
            #expect(await redis.outcome("GET", "k") == .failure(.refused(code: "WRONGPASS")))
            #expect(!redis.isReady)
        }
    }

    @Test @LoopActor func `refuses more than it may have on the way`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) {
            $0.maximumPending = 10
        } _: { redis in
            _ = await redis.outcome("PING")
            let tasks = (0..<12).map { _ in LoopActor.spawn { await redis.outcome("INCR", "n") } }
            var answers: [Result<RedisReply, RedisError>] = []
            for task in tasks { answers.append(await task.value) }
            #expect(
                answers == (1...10).map { .success(.integer($0)) } + [.failure(.unavailable), .failure(.unavailable)])
        }
    }

    @Test @LoopActor func `answers nobody after it was closed`() async throws {
        let folder = try TemporaryFolder()
        let never = Latch()
        defer { never.open() }
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, _ in
            command == ["PING"] ? [.reply("+PONG\r\n")] : [.wait(never)]
        }
        try await withRedis(folder["r.sock"]) { redis in
            _ = await redis.outcome("PING")
            let task = LoopActor.spawn { await redis.outcome("GET", "k") }
            while server.connections == 0 { await Task.yield() }
            await Task.yield()
            redis.close()
            #expect(await task.value == .failure(.unavailable))
            #expect(await redis.outcome("GET", "k") == .failure(.unavailable))
        }
    }
}
