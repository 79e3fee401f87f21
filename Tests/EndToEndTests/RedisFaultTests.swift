import Foundation
import Testing

extension EndToEnd {
    /// FAULTS rows 1 to 3: whatever Redis does, renewal and uploads go on, vending says "later", and nobody waits.
    @Suite struct RedisFaults {
        /// How Redis fails, and comes back.
        enum FaultCase: String, CaseIterable, CustomTestStringConvertible {
            case killed, stopped, paused, garbage

            var testDescription: String { rawValue }

            func begin(_ stack: Stack) throws -> Garbage? {
                guard let redis = stack.redis else { return nil }
                switch self {
                case .killed: redis.program.stop(SIGKILL)
                case .stopped: redis.program.signal(SIGSTOP)
                case .paused: try redis.command("CLIENT PAUSE 1500 ALL")
                case .garbage:
                    redis.program.stop(SIGKILL)
                    return try Garbage(path: redis.path)
                }
                return nil
            }

            func end(_ stack: Stack, _ garbage: Garbage?) throws {
                garbage?.stop()
                switch self {
                case .killed, .garbage: try stack.redis?.restart()
                case .stopped: stack.redis?.program.signal(SIGCONT)
                // Nobody can end it: this, too, is answered when it is over.
                case .paused: try stack.redis?.command("PING")
                }
            }
        }

        /// 50 ms by the design, and what a busy machine adds.
        private static let bound = 150.0
        /// 5 ms by the design, and what a busy machine adds.
        private static let boundOnceKnown = 20.0

        private static func options(s3: Bool = false) -> Stack.Options {
            Stack.Options(s3: s3) { $0["redis.timeoutMilliseconds"] = 40 }
        }

        @Test(arguments: FaultCase.allCases)
        func `every route keeps its word within its time, and Redis is used again within a second`(_ fault: FaultCase)
            throws
        {
            try Stack.run("redis-\(fault)", Self.options(s3: true)) { stack in
                try stack.waitUntilReady()
                let token = Tokens.fresh()
                for _ in 1...3 { #expect(try stack.ask(.presign(token)).status == 200) }
                #expect(try Self.remaining(stack.ask(.presign(token))) == 116)

                let garbage = try fault.begin(stack)
                try Self.checkWithoutRedis(stack, token)

                try fault.end(stack, garbage)
                let back = milliseconds()
                try wait(for: "vending again", within: .seconds(1)) { try stack.ask(.vend(token)).status == 200 }
                #expect(milliseconds() - back < 1000)
                // What Redis still had goes on counting; what one that was killed had is gone.
                let left = try Self.remaining(stack.ask(.presign(token)))
                switch fault {
                case .stopped, .paused: #expect(left <= 115 && left >= 112)
                case .killed, .garbage: #expect(left == 119)
                }
            }
        }

        private static func checkWithoutRedis(_ stack: Stack, _ token: String) throws {
            // The first may have to find out.
            let (first, duration) = try timed { try stack.ask(.presign(token)) }
            #expect(first.status == 200)
            #expect(duration < Self.bound)
            var durations: [Double] = []
            for _ in 1...12 {
                // Over half a second: while it waits to connect again, while it tries, and after it has failed to.
                usleep(50_000)
                let (presigned, one) = try timed { try stack.ask(.presign(token)) }
                #expect(presigned.status == 200)
                let (vended, two) = try timed { try stack.ask(.vend(token)) }
                #expect(vended.told == #"503 {"error":"Temporarily unavailable","code":"unavailable"}"#)
                #expect(vended.fields["retry-after"] == "1")
                durations += [one, two]
            }
            #expect(durations.sorted()[20] < Self.boundOnceKnown)
            #expect(durations.max() ?? 0 < Self.bound)
            let (renewed, last) = try timed { try stack.ask(.renew(token, ["gone.bin"])) }
            #expect(
                renewed.told
                    == #"200 {"renewed":0,"failed":1,"results":[{"key":"gone.bin","success":false,"error":"not_found"}]}"#
            )
            #expect(last < Self.bound)
            let metrics = Metrics(try stack.ask(.metrics).text)
            #expect(metrics.sum("cloakroom_limit_decisions_total", ["limit": "upload", "verdict": "open"]) >= 13)
            #expect(metrics.sum("cloakroom_limit_decisions_total", ["limit": "vendAll", "verdict": "closed"]) == 12)
            #expect(metrics.sum("cloakroom_redis_failures_total") >= 26)
        }

        @Test func `the worker's own limit counts while Redis is away`() throws {
            try Stack.run("redis-local", .init(redis: false) { $0["limits.upload.requests"] = 3 }) { stack in
                let token = Tokens.fresh()
                let statuses = try (1...5).map { _ in try stack.ask(.presign(token)).status }
                #expect(statuses == [200, 200, 200, 429, 429])
                #expect(try stack.ask(.presign(Tokens.fresh())).status == 200)
            }
        }

        @Test func `many requests at once all have their answer in time when Redis hangs`() throws {
            try Stack.run("redis-crowd", Self.options()) { stack in
                let token = Tokens.fresh()
                try wait(for: "Redis") { try Self.remaining(stack.ask(.presign(token))) < 119 }
                stack.redis?.program.signal(SIGSTOP)
                let clients = try (0..<100).map { _ in try FastCGIClient(path: stack.socket()) }
                let (_, duration) = try timed {
                    for client in clients { try client.socket.send(FastCGIClient.request(.presign(token))) }
                    for client in clients { #expect(try client.answer().status == 200) }
                }
                #expect(duration < 300)
            }
        }

        @Test func `a flushed Redis locks nobody out, and every key ends`() throws {
            try Stack.run("redis-flush", .init(s3: true)) { stack in
                try stack.waitUntilReady()
                let redis = try #require(stack.redis)
                let token = Tokens.fresh()
                for (round, command) in ["FLUSHALL", "SCRIPT FLUSH", "FLUSHALL"].enumerated() {
                    for _ in 1...2 { #expect(try stack.ask(.renew(token, ["gone.bin"])).status == 200) }
                    #expect(try stack.ask(.presign(token)).status == 200)
                    #expect(try stack.ask(.vend(token)).status == 200)
                    let keys = try redis.command("KEYS *")
                    // Requests of three kinds, keys renewed, bytes announced: of the device and of the user. Only the
                    // first vend asks STS.
                    #expect(keys.count == (round == 0 ? 12 : 10))
                    for key in keys {
                        let left = try Int(redis.command("PTTL \(key)").first ?? "") ?? -1
                        #expect((3_500_000...3_600_000).contains(left), "\(key)")
                    }
                    try redis.command(command)
                }
                #expect(try Self.remaining(stack.ask(.presign(token))) == 119)
            }
        }

        @Test func `a key that lost its end is given one`() throws {
            try Stack.run("redis-persist") { stack in
                let redis = try #require(stack.redis)
                let token = Tokens.fresh()
                try wait(for: "a key") {
                    try stack.ask(.presign(token)).status == 200 && redis.command("DBSIZE") == ["4"]
                }
                let keys = try redis.command("KEYS *")
                for key in keys { #expect(try redis.command("PERSIST \(key)") == ["1"]) }
                #expect(try stack.ask(.presign(token)).status == 200)
                for key in keys { #expect(try Int(redis.command("PTTL \(key)").first ?? "") ?? -1 > 0) }
            }
        }

        @Test func `a restarted Redis is given the script again`() throws {
            try Stack.run("redis-restart") { stack in
                let token = Tokens.fresh()
                try wait(for: "Redis") { try Self.remaining(stack.ask(.presign(token))) < 119 }
                try stack.redis?.restart()
                try wait(for: "counting in Redis", within: .seconds(1)) {
                    _ = try stack.ask(.presign(token))
                    return try stack.redis?.command("DBSIZE") == ["4"]
                }
                let before = try Self.remaining(stack.ask(.presign(token)))
                #expect(try Self.remaining(stack.ask(.presign(token))) == before - 1)
            }
        }

        private static func remaining(_ reply: TestResponse) throws -> Int {
            let match = try #require(reply.fields["ratelimit"]?.firstMatch(of: /r=(\d+)/), "\(reply.told.prefix(100))")
            return try #require(Int(match.1))
        }
    }
}

/// Listens where Redis did, and answers everything with nonsense.
final class Garbage: Sendable {
    private let stopped = Flag()
    private let ended = DispatchSemaphore(value: 0)

    init(path: String) throws {
        let listening = try SocketBox(Socket.listening(path: path))
        let thread = Thread { [stopped, ended] in
            while !stopped.isRaised {
                guard let connection = listening.socket.accept(within: .milliseconds(20)) else { continue }
                try? connection.send("$9999999999999999999\r\n\u{0}\u{1}HTTP/1.1 200 OK\r\n\r\n+OK\r\n*-7\r\n")
                _ = try? connection.receive()
            }
            listening.socket.shut()
            ended.signal()
        }
        thread.start()
    }

    func stop() {
        stopped.raise()
        ended.wait()
    }
}
