import CloakroomLoop
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomRedis
@testable import CloakroomServer

/// When the workers look whether Redis does what requests need.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RedisHealthTests {
    /// A master that has become a replica: the link is given up with the first request on its way, and the next link is to it again.
    private final class DemotedRedis: RedisClient {
        var refusal: RedisError? { requests == 1 ? .refused(code: "READONLY") : nil }
        var isReady: Bool { refusal == nil }
        let pendingCount = 0
        let currentServers: [RedisAddress] = []
        var onRepeat: (@LoopActor () -> Void)?
        private var requests = 0

        func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
            requests += 1
            completion(.failure(requests == 1 ? .interrupted : .refused(code: "READONLY")))
        }

        func settle(within limit: Duration) async {}
        func close() {}
    }

    @Test @LoopActor func `a refusal is found also where the look at it was cut off`() async throws {
        let health = RedisHealth(
            redis: DemotedRedis(), selfTest: RedisSelfTest(try settings(smallest()), name: "w"),
            log: Log(sink: nil, level: .error))
        var found: [RedisError] = []
        health.onFailure = { found.append($0) }
        health.failed(.refused(code: "READONLY"))
        let end = ContinuousClock.now + .seconds(10)
        while found.count < 2, .now < end { try await LoopActor.sleep(for: .milliseconds(10)) }
        // Refusals are looked at twice a second, and told once in fifteen.
        try await LoopActor.sleep(for: .milliseconds(1200))
        #expect(found == [.interrupted, .refused(code: "READONLY")])
    }

    @Test @LoopActor func `a look without a connection is told once, and what requests meet is not`() async throws {
        let health = RedisHealth(
            redis: UnreachableRedis(), selfTest: RedisSelfTest(try settings(smallest()), name: "w"),
            log: Log(sink: nil, level: .error))
        var found: [RedisError] = []
        health.onFailure = { found.append($0) }
        let watching = LoopActor.spawn { await health.watch() }
        let end = ContinuousClock.now + .seconds(10)
        while found.isEmpty, .now < end { try await LoopActor.sleep(for: .milliseconds(10)) }
        health.failed(.unavailable)
        // Longer than between looks at a refusal.
        try await LoopActor.sleep(for: .milliseconds(700))
        watching.cancel()
        await watching.value
        #expect(found == [.unavailable])
    }

    // MARK: Several primaries

    /// The primaries of a cluster, some of which refuse or do not respond.
    private final class ClusterRedis: RedisClient {
        let refusal: RedisError? = nil
        let isReady = true
        let pendingCount = 0
        var onRepeat: (@LoopActor () -> Void)?
        var map: SlotMap
        /// By the primaries' hosts.
        var errors: [String: RedisError]
        /// What the health told.
        var found: [RedisError] = []

        init(_ hosts: [String] = ["a", "b", "c"], errors: [String: RedisError]) throws {
            map = try ClusterRedis.map(hosts)
            self.errors = errors
        }

        static func map(_ hosts: [String]) throws -> SlotMap {
            let ranges = hosts.indices.map { index -> RedisReply in
                let first = HashSlot.count * index / hosts.count
                let last = HashSlot.count * (index + 1) / hosts.count - 1
                let server = RedisReply.array([.text(Array(hosts[index].utf8)), .integer(7000)])
                return RedisReply.array([.integer(first), .integer(last), server])
            }
            let node = RedisAddress.internet(host: "a", port: 7000)
            return try #require(SlotMap(slots: .array(ranges), info: .null, from: node))
        }

        var currentServers: [RedisAddress] { map.primaries }
        var keyTags: [(server: RedisAddress?, tag: String)] { map.keyTags }

        func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
            guard let slot = request.slots[0], let owner = map[slot],
                case .internet(let host, _) = map.primaries[owner]
            else { return completion(.failure(.unavailable)) }
            if let error = errors[host] { return completion(.failure(error)) }
            let replies = String(repeating: "+OK\r\n", count: request.replies)
            completion(.reply(RedisReplyCursor(reading: replies)))
        }

        func settle(within limit: Duration) async {}
        func close() {}
    }

    /// Watches while the body runs.
    @LoopActor private func withHealth(
        of redis: ClusterRedis, name: String = "w", log: Log? = nil,
        _ body: @LoopActor (RedisHealth) async throws -> Void
    ) async throws {
        let health = RedisHealth(
            redis: redis, selfTest: RedisSelfTest(try settings(smallest()), name: name),
            log: log ?? Log(sink: nil, level: .error))
        health.onFailure = { redis.found.append($0) }
        let watching = LoopActor.spawn { await health.watch() }
        defer { watching.cancel() }
        try await body(health)
    }

    /// Waits for it, for some seconds.
    @LoopActor private func becomes(_ isSo: @LoopActor () -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while !isSo() {
            guard .now < end else { return false }
            try await LoopActor.sleep(for: .milliseconds(2))
        }
        return true
    }

    @LoopActor private static func hosts(_ health: RedisHealth) -> [String] {
        health.refusals.map { $0.server.map { "\($0)" } ?? "none" }
    }

    @Test @LoopActor func `each worker finds one full primary of three, and stays ready`() async throws {
        for number in 0..<30 {
            let redis = try ClusterRedis(errors: ["c": .refused(code: "OOM")])
            try await withHealth(of: redis, name: "w\(number)") { (health) async throws in
                #expect(try await becomes { health.roundTrip != nil })
                #expect(Self.hosts(health) == ["c:7000"])
                #expect(health.fault == nil && health.role == .primary)
            }
        }
    }

    @Test @LoopActor func `a worker is not ready where no primary takes its commands`() async throws {
        let full = RedisError.refused(code: "OOM")
        let redis = try ClusterRedis(errors: ["a": .unavailable, "b": full, "c": full])
        try await withHealth(of: redis) { (health) async throws in
            #expect(try await becomes { health.fault?.hasPrefix("OOM: b:7000: Redis has used up maxmemory") == true })
            redis.errors = ["b": full, "c": full]
            #expect(try await becomes { health.fault == nil })
        }
    }

    @Test @LoopActor func `each code of several primaries is told once, and each primary is logged`() async throws {
        let folder = try TemporaryFolder()
        let log = Log(sink: try LineSink(path: folder["log"]), level: .info)
        let redis = try ClusterRedis(
            ["a", "b", "c", "d"], errors: ["b": .refused(code: "NOPERM"), "c": .refused(code: "OOM")])
        try await withHealth(of: redis, log: log) { (health) async throws in
            #expect(try await becomes { Self.hosts(health) == ["b:7000", "c:7000"] })
            redis.errors["d"] = .refused(code: "OOM")
            // Refusals are looked at twice a second.
            try await LoopActor.sleep(for: .milliseconds(1200))
            #expect(redis.found == [.refused(code: "NOPERM"), .refused(code: "OOM")])
            redis.errors = [:]
            #expect(try await becomes { health.refusals.isEmpty })
        }
        func lines() throws -> [Substring] {
            try String(contentsOfFile: folder["log"], encoding: .utf8).split(separator: "\n")
        }
        let end = ContinuousClock.now + .seconds(10)
        while try lines().count < 4, .now < end { try await LoopActor.sleep(for: .milliseconds(2)) }
        let refusals = [("NOPERM", "b"), ("OOM", "c"), ("OOM", "d")]
        #expect(try lines().count == 4)
        for (line, (code, host)) in zip(try lines(), refusals) {
            #expect(line.contains(#""code":"\#(code)""#) && line.contains(#""server":"\#(host):7000""#))
        }
        #expect(try lines().last?.contains("Redis takes commands again") == true)
    }

    @Test @LoopActor func `a refusal goes with its primary, and comes with a new one`() async throws {
        let redis = try ClusterRedis(errors: ["c": .refused(code: "OOM"), "d": .refused(code: "WRONGPASS")])
        try await withHealth(of: redis) { (health) async throws in
            #expect(try await becomes { Self.hosts(health) == ["c:7000"] })
            redis.map = try ClusterRedis.map(["a", "b", "d"])
            #expect(try await becomes { Self.hosts(health) == ["d:7000"] })
            redis.map = try ClusterRedis.map(["a", "b"])
            #expect(try await becomes { health.refusals.isEmpty })
        }
    }

    @Test @LoopActor func `a lost primary is told, hides no other's refusal, and has none itself`() async throws {
        let redis = try ClusterRedis(errors: ["a": .unavailable, "c": .refused(code: "OOM")])
        try await withHealth(of: redis) { (health) async throws in
            #expect(try await becomes { Self.hosts(health) == ["c:7000"] })
            #expect(redis.found == [.unavailable, .refused(code: "OOM")])
            // What has refused, and does not respond, may refuse still.
            redis.errors = ["a": .unavailable, "c": .timeout]
            #expect(try await becomes { redis.found.count == 3 })
            #expect(Self.hosts(health) == ["c:7000"] && health.fault == nil)
            redis.errors = ["c": .unavailable]
            #expect(try await becomes { health.refusals.isEmpty })
            #expect(redis.found == [.unavailable, .refused(code: "OOM"), .timeout])
            #expect(health.fault == nil && health.role == .primary)
        }
    }
}
