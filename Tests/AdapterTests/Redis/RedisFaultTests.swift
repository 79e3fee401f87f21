import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Glibc
import Testing

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RedisFaultTests {
    @Test @LoopActor func `is back within a second of a killed server's return`() async throws {
        let folder = try TemporaryFolder()
        let path = folder["r.sock"]
        let server = try await onThread { try RedisServer(path: path) }
        try await withRedis(path, timeout: .seconds(1)) {
            $0.retryInterval = .milliseconds(250)
        } _: { redis in
            #expect(await redis.outcome("INCR", "n") == .success(.integer(1)))
            try await onThread { server.kill() }
            while redis.isReady { await Task.yield() }
            let start = ContinuousClock.now
            #expect(await redis.outcome("INCR", "n") == .failure(.unavailable))
            #expect(ContinuousClock.now - start < .milliseconds(100))
            let next = try await onThread { try RedisServer(path: path) }
            #expect(await redis.becomesReady(within: .seconds(1)))
            #expect(await redis.outcome("INCR", "n") == .success(.integer(1)))
            withExtendedLifetime(next) {}
        }
    }

    @Test @LoopActor func `a walk through the keys is gone on with until the server has restarted`() async throws {
        let folder = try TemporaryFolder()
        let path = folder["r.sock"]
        let server = try await onThread { try RedisServer(path: path) }
        let fill = RedisCommand(["EVAL", "for n = 1, 9000 do redis.call('SET', n, '') end", "0"])
        let first = try await withRedis(path) { redis in
            _ = try await redis.send(fill)
            return try await redis.scan(from: "0", matching: "*").next
        }
        #expect(first.contains(":"))
        try await withRedis(path) { redis in
            // On another connection, as another process has.
            let second = try await redis.scan(from: first, matching: "*").next
            #expect(second.contains(":") && second != first)
            try await onThread { server.kill() }
            while redis.isReady { await Task.yield() }
            let next = try await onThread { try RedisServer(path: path) }
            #expect(await redis.becomesReady(within: .seconds(10)))
            _ = try await redis.send(fill)
            await #expect(throws: RedisError.refused(code: "NOCURSOR")) {
                _ = try await redis.scan(from: second, matching: "*")
            }
            #expect(try await !redis.scan(from: "0", matching: "*").keys.isEmpty)
            withExtendedLifetime(next) {}
        }
    }

    @Test @LoopActor func `without the right to INFO a step through the keys names no server`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            #expect(await redis.outcome("ACL", "SETUSER", "default", "-info") == .success(.status("OK")))
            let fill = RedisCommand(["EVAL", "for n = 1, 9000 do redis.call('SET', n, '') end", "0"])
            _ = try await redis.send(fill)
            let next = try await redis.scan(from: "0", matching: "*").next
            #expect(UInt64(next) != nil && next != "0")
            #expect(try await !redis.scan(from: next, matching: "*").keys.isEmpty)
        }
    }

    @Test @LoopActor func `gives a silent server up, and fails at once until it is back`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { other in
            try await withRedis(server.path, timeout: .milliseconds(40)) { redis in
                #expect(await redis.becomesReady(within: .seconds(10)))
                #expect(await other.outcome("CLIENT", "PAUSE", "400", "ALL") == .success(.status("OK")))
                let start = ContinuousClock.now
                #expect(await redis.outcome("INCR", "n") == .failure(.timeout))
                #expect(ContinuousClock.now - start >= .milliseconds(40))
                #expect(await redis.outcome("INCR", "n") == .failure(.unavailable))
                #expect(!redis.isReady)
                #expect(await redis.becomesReady(within: .seconds(5)))
                guard case .success(.integer) = await redis.outcome("INCR", "n") else {
                    Issue.record("not back")
                    return
                }
            }
        }
    }

    /// A turn of the loop with a thousand requests in it takes longer than a reply may, and sends them at its end.
    @Test @LoopActor func `does not take its own delay for the server's`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path, timeout: .milliseconds(40)) { redis in
            #expect(await redis.becomesReady(within: .seconds(10)))
            #expect(await redis.outcome("INCR", "n") == .success(.integer(1)))
            var pipe: [Int32] = [0, 0]
            try #require(Glibc.pipe(&pipe) == 0)
            defer { for end in pipe { close(end) } }
            var watches: [EventPoller.Watch] = []
            let outcome = await withCheckedContinuation { continuation in
                let watch = EventPoller.shared.watch(pipe[0], for: [.readable, .edge]) { _ in
                    redis.send(RedisRequest(RedisCommand(["INCR", "n"]))) { response in
                        switch response {
                        case .failure(let error): continuation.resume(returning: RedisOutcome.failure(error))
                        case .reply(let cursor): continuation.resume(returning: RedisOutcome(cursor))
                        }
                    }
                    let start = ContinuousClock.now
                    while ContinuousClock.now - start < .milliseconds(60) {}
                }
                watches.append(watch)
                _ = write(pipe[1], "x", 1)
            }
            for watch in watches { EventPoller.shared.unwatch(watch) }
            #expect(outcome == .success(.integer(2)))
        }
    }

    @Test @LoopActor func `does not wait for a server that is not there`() async throws {
        let folder = try TemporaryFolder()
        try await withRedis(folder["none.sock"]) { redis in
            #expect(await redis.outcome("PING") == .failure(.unavailable))
        }
        let closed = try HTTPServer { _ in [] }
        closed.stop()
        let port = try #require(closed.url.split(separator: ":").last.flatMap { UInt16($0) })
        try await withRedis("") {
            $0.address = .internet(host: "127.0.0.1", port: port)
        } _: { redis in
            #expect(await redis.outcome("PING") == .failure(.unavailable))
        }
    }

    @Test @LoopActor func `waits for one that takes connections and says nothing no longer than it may`() async throws {
        let folder = try TemporaryFolder()
        let never = Latch()
        defer { never.open() }
        let server = try ScriptedRedis(path: folder["r.sock"]) { _, _ in [.wait(never)] }
        try await withRedis(folder["r.sock"], timeout: .milliseconds(40)) { redis in
            let start = ContinuousClock.now
            #expect(await redis.outcome("GET", "k") == .failure(.unavailable))
            #expect(ContinuousClock.now - start >= .milliseconds(40))
        }
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [
        ("LOADING Redis is loading the dataset in memory", "LOADING", 1), ("OOM command not allowed", "OOM", 1),
        ("BUSY Redis is busy running a script", "BUSY", 1), ("NOSCRIPT No matching script", "NOSCRIPT", 1),
        ("ERR max number of clients reached", "MAXCLIENTS", 1), ("ERR unknown command", "ERR", 1),
        (
            "ERR Error running script (call to f_1): @user_script:5: @user_script: 5: -OOM command not allowed", "OOM",
            1
        ),
        ("ERR Error running script (call to f_1): @user_script:5: @user_script: 5: wrong number -X", "ERR", 1),
        ("ERR The user executing the script can't run this command or subcommand script: e4b6", "NOPERM", 1),
        ("ERR ACL failure in script: User c has no permissions to run the 'incrby' command script: 47f2", "NOPERM", 1),
        ("NOREPLICAS Not enough good replicas to write.", "NOREPLICAS", 1),
        ("MISCONF Redis is configured to save RDB snapshots", "MISCONF", 1),
        (
            "ERR Error running script (call to f_1): @user_script:5: @user_script: 5: -READONLY You can't write against "
                + "a read only replica.", "READONLY", 2
        ),
        ("READONLY You can't write", "READONLY", 2),
        ("NOAUTH Authentication required.", "NOAUTH", 2), ("MASTERDOWN Link with MASTER is down", "MASTERDOWN", 2),
    ])
    @LoopActor func `names a refusal by its code`(message: String, code: String, connections: Int) async throws {
        let folder = try TemporaryFolder()
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, connection in
            command == ["PING"] || connection > 0 ? [.reply("+PONG\r\n")] : [.reply("-\(message)\r\n")]
        }
        try await withRedis(folder["r.sock"]) { redis in
            #expect(await redis.outcome("INCR", "n") == .failure(.refused(code: code)))
            // A server that cannot help is left: its address may lead to another one by now.
            #expect(await redis.becomesReady(within: .seconds(5)))
            #expect(server.connections == connections)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n\r\n", "\u{0}\u{0}\u{0}", ":x\r\n", "*-5\r\n", "$-7\r\n", "+OK\r\n+TOO MANY\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    ])
    @LoopActor func `leaves a server that talks nonsense, and comes back`(garbage: String) async throws {
        let folder = try TemporaryFolder()
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, connection in
            command == ["PING"] || connection > 0 ? [.reply("+PONG\r\n")] : [.reply(garbage)]
        }
        try await withRedis(folder["r.sock"], timeout: .milliseconds(500)) { redis in
            _ = await redis.outcome("GET", "k")
            while server.connections < 2 { try await LoopActor.sleep(for: .milliseconds(1)) }
            #expect(await redis.becomesReady(within: .seconds(5)))
            #expect(await redis.outcome("GET", "k") == .success(.status("PONG")))
        }
    }

    @Test @LoopActor func `says that a command may have been carried out when the connection breaks`() async throws {
        let folder = try TemporaryFolder()
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, _ in
            command == ["PING"] ? [.reply("+PONG\r\n")] : [.reply(":1"), .end]
        }
        try await withRedis(folder["r.sock"]) { redis in
            let tasks = (0..<3).map { _ in LoopActor.spawn { await redis.outcome("INCR", "n") } }
            for task in tasks { #expect(await task.value == .failure(.interrupted)) }
        }
        withExtendedLifetime(server) {}
    }

    @Test @LoopActor func `reads answers that come byte by byte`() async throws {
        let folder = try TemporaryFolder()
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, _ in
            command == ["PING"] ? [.dribble("+PONG\r\n")] : [.dribble("*2\r\n:12\r\n$3\r\na\r\n\r\n")]
        }
        try await withRedis(folder["r.sock"]) { redis in
            #expect(await redis.outcome("X") == .success(.array([.integer(12), .text(Array("a\r\n".utf8))])))
        }
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [true, false])
    @LoopActor func `keeps apart what belongs to whom, however it is cut`(isForgotten: Bool) async throws {
        let folder = try TemporaryFolder()
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, _ in
            switch command[0] {
            case "PING": [.reply("+PONG\r\n")]
            case "EVALSHA" where isForgotten: [.dribble("-NOSCRIPT No matching script\r\n")]
            case "EVALSHA", "EVAL": [.dribble("*2\r\n:1\r\n*1\r\n$1\r\nx\r\n")]
            case "HMGET": [.dribble("*2\r\n$-1\r\n$2\r\n\r\n\r\n")]
            default: [.dribble("$1\r\na\r\n")]
            }
        }
        let call = RedisScript(source: "return 1", digest: "0").call(keys: [], arguments: [])
        try await withRedis(folder["r.sock"]) { redis in
            let both = RedisRequest(call, beside: RedisCommand(["HMGET", "k", "f", "g"]))
            let tasks = (0..<20).map { number in
                LoopActor.spawn { number % 2 == 0 ? await redis.outcomes(both) : [await redis.outcome("GET", "k")] }
            }
            for (number, task) in tasks.enumerated() {
                let expected: [RedisOutcome] =
                    number % 2 == 1
                    ? [.success(.text(Array("a".utf8)))]
                    : [
                        .success(.array([.integer(1), .array([.text(Array("x".utf8))])])),
                        .success(.array([.null, .text(Array("\r\n".utf8))])),
                    ]
                #expect(await task.value == expected)
            }
        }
        withExtendedLifetime(server) {}
    }

    @Test @LoopActor func `comes up with a server that loads its data first`() async throws {
        let folder = try TemporaryFolder()
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, connection in
            connection < 3 ? [.reply("-LOADING Redis is loading the dataset in memory\r\n")] : [.reply("+PONG\r\n")]
        }
        try await withRedis(folder["r.sock"]) { redis in
            #expect(await redis.outcome("GET", "k") == .failure(.refused(code: "LOADING")))
            #expect(await redis.outcome("GET", "k") == .failure(.refused(code: "LOADING")))
            #expect(await redis.becomesReady(within: .seconds(5)))
            #expect(server.connections == 4)
            #expect(await redis.outcome("GET", "k") == .success(.status("PONG")))
        }
    }
}
