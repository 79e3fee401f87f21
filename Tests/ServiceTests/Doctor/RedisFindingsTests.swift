import CloakroomRedis
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct RedisFindingsTests {
    /// Of Redis 7.0.15, as far as it is read.
    private static let info = """
        # Server\r
        redis_version:7.0.15\r
        # Memory\r
        used_memory:1048576\r
        maxmemory:104857600\r
        maxmemory_policy:noeviction\r
        # Persistence\r
        rdb_last_bgsave_status:ok\r
        aof_enabled:1\r
        aof_last_write_status:ok\r
        # Stats\r
        evicted_keys:0\r
        # Replication\r
        role:master\r

        """

    private static func lines(
        _ changes: [(String, String)] = [], save: String? = "", ping: Duration = .microseconds(80),
        script: RedisError? = nil, settings more: String = ""
    ) throws -> [String] {
        var text = info
        for (line, other) in changes { text = text.replacing("\(line)\r\n", with: "\(other)\r\n") }
        var answers = RedisObservations(info: .success(text), save: save)
        answers.latencies = Array(repeating: .microseconds(50), count: 98) + [ping, ping]
        answers.script = script.map { RedisSelfTest.Refusal(purpose: "limits", error: $0) }
        return RedisFindings(answers, try settings(smallest(more))).all.lines
    }

    @Test func `has nothing to say against a Redis that keeps what it knows`() throws {
        #expect(
            try Self.lines() == [
                "ok: Redis 7.0.15", "ok: scripts run and write",
                "ok: PING takes 0.05 ms at the median, 0.08 ms at the 99th percentile",
                "ok: eviction policy is noeviction",
                "ok: 1 % of maxmemory are in use", "ok: users' records are kept in an append-only file",
            ])
    }

    @Test(arguments: [
        ("redis_version:7.0.15", "redis_version:4.0.9", "error: Redis 4.0.9"),
        ("redis_version:7.0.15", "redis_version:6.0.16", "warning: Redis 6.0.16"),
        ("redis_version:7.0.15", "redis_version:7.2.4\r\nvalkey_version:8.0.1", "ok: Valkey 8.0.1"),
        ("role:master", "role:slave", "error: this Redis is a slave"),
        ("maxmemory_policy:noeviction", "maxmemory_policy:allkeys-lru", "error: eviction policy is allkeys-lru"),
        ("maxmemory_policy:noeviction", "maxmemory_policy:volatile-ttl", "warning: eviction policy is volatile-ttl"),
        ("maxmemory:104857600", "maxmemory:0", "warning: maxmemory is 0: there is no limit"),
        ("used_memory:1048576", "used_memory:94371840", "warning: 90 % of maxmemory are in use"),
        ("aof_enabled:1", "aof_enabled:0", "warning: users' records are kept in memory alone"),
        ("aof_last_write_status:ok", "aof_last_write_status:err", "error: Redis could not write its append-only file"),
        (
            "aof_last_write_status:ok", "aof_last_write_status:ok\r\naof_last_bgrewrite_status:err",
            "error: Redis could not write its append-only file anew"
        ),
    ])
    func `names what is wrong`(line: String, other: String, expected: String) throws {
        let lines = try Self.lines([(line, other)])
        #expect(lines.contains(expected), "\(lines)")
        #expect(lines.count { !$0.hasPrefix("ok") } == (expected.hasPrefix("ok") ? 0 : 1))
    }

    @Test(arguments: [
        ("connected_slaves:2", "", "warning: the master takes writes without a replica that follows"),
        (
            "connected_slaves:0", "redis: {sentinels: ['10.0.0.1:26379'], master: 'main'}",
            "warning: the master takes writes without a replica that follows"
        ),
        (
            "connected_slaves:2\r\nmin_slaves_good_slaves:1", "",
            "ok: 1 of 2 replicas are near enough for the master to take writes"
        ),
    ])
    func `warns of a master that would go on writing when it was replaced`(
        replicas: String, settings more: String, expected: String
    ) throws {
        let lines = try Self.lines([("role:master", "role:master\r\n\(replicas)")], settings: more)
        #expect(lines.contains(expected), "\(lines)")
    }

    /// After a failover the one that becomes the master has no replica, and refuses writes with the same settings.
    @Test(arguments: [(1, 1, 1, true), (2, 1, 10, true), (2, 2, 1, false)])
    func `warns of a single replica whose loss, or the master's, would end all writes`(
        replicas: Int, near: Int, lag: Int, warns: Bool
    ) throws {
        let findings = try Self.findings(
            [("role:master", "role:master\r\nconnected_slaves:\(replicas)\r\nmin_slaves_good_slaves:\(near)")],
            maximumLag: lag)
        let found = findings.first { $0.found == "only one replica is near enough for the master to take writes" }
        #expect((found?.level == .warning) == warns)
        #expect((found?.advice?.contains("run two replicas") == true) == warns)
    }

    @Test(arguments: [(1, true), (2, false)])
    func `advises two replicas before the settings that need them`(replicas: Int, advises: Bool) throws {
        let findings = try Self.findings([("role:master", "role:master\r\nconnected_slaves:\(replicas)")])
        let finding = try #require(findings.first { $0.found.hasPrefix("the master takes writes without") })
        #expect(finding.advice?.hasPrefix("run two replicas") == advises)
    }

    @Test(arguments: [(1, "ok"), (2, "ok"), (3, "warning"), (10, "warning")])
    func `warns of replicas that may be far behind`(lag: Int, level: String) throws {
        let info = Self.info.replacing(
            "role:master", with: "role:master\r\nconnected_slaves:2\r\nmin_slaves_good_slaves:2")
        var observations = RedisObservations(info: .success(info), save: "")
        observations.maximumLag = lag
        let finding = try #require(
            RedisFindings(observations, try settings(smallest())).all.first { $0.found.contains("near enough") })
        #expect(finding.level.rawValue == level)
        #expect(finding.found.hasSuffix("min-replicas-max-lag is \(lag)") == (level == "warning"))
    }

    private static func findings(
        _ changes: [(String, String)], maximumLag: Int? = nil, settings more: String = ""
    ) throws -> [Finding] {
        let text = changes.reduce(info) { $0.replacing("\($1.0)\r\n", with: "\($1.1)\r\n") }
        var observations = RedisObservations(info: .success(text), save: "3600 1")
        observations.maximumLag = maximumLag
        return RedisFindings(observations, try settings(smallest(more))).all
    }

    /// `CONFIG SET a 1 b 2` came with Redis 7, and lasts until Redis restarts.
    @Test(
        arguments: [
            ("connected_slaves:2", nil, ["min-replicas-to-write 1", "min-replicas-max-lag 1"]),
            ("connected_slaves:2\r\nmin_slaves_good_slaves:2", 10, ["min-replicas-max-lag 1"]),
            ("maxmemory_policy:allkeys-lru", nil, ["maxmemory-policy noeviction"]),
            ("maxmemory_policy:volatile-ttl", nil, ["maxmemory-policy noeviction"]),
        ] as [(String, Int?, [String])])
    func `sets one thing with each command, and keeps it on each server`(
        line: String, lag: Int?, values: [String]
    ) throws {
        let commands = values.map { "redis-cli CONFIG SET \($0)" }
        for (file, all, words) in [
            (
                "\r\nconfig_file:/etc/redis/redis.conf", commands + ["redis-cli CONFIG REWRITE"],
                "where CONFIG REWRITE is an error"
            ),
            ("\r\nconfig_file:", commands, "this Redis has no configuration file"),
        ] {
            let findings = try Self.findings([("role:master", "role:master\r\n\(line)\(file)")], maximumLag: lag)
            let finding = try #require(findings.first { $0.command?.contains("CONFIG SET") == true })
            #expect(finding.command == all.joined(separator: " && "))
            #expect(finding.advice?.contains("on each server, for a replica becomes the master") == true)
            #expect(finding.advice?.contains(words) == true)
        }
    }

    /// With `appendonly yes` in its file and dump.rdb alone on disk, Redis 7 starts with no key.
    @Test func `turns the append-only file on in the running Redis, and in its file only when that is written`() throws
    {
        let findings = try Self.findings([("aof_enabled:1", "aof_enabled:0")])
        let finding = try #require(findings.first { $0.found.hasPrefix("users' records") })
        #expect(finding.command == "redis-cli CONFIG SET appendonly yes")
        let advice = try #require(finding.advice)
        let order = [
            "never put appendonly yes in its file first", "aof_rewrite_in_progress:0", "aof_last_bgrewrite_status:ok",
            "redis-cli CONFIG REWRITE",
        ].map { advice.firstRange(of: $0)?.lowerBound }
        #expect(!order.contains(nil) && order.compactMap(\.self) == order.compactMap(\.self).sorted(), "\(advice)")
    }

    @Test(arguments: [
        (RedisTLSFailure.Cause.certificateRequired, "tls-auth-clients no"), (.noTLS, "redis.tls: false"),
        (.untrusted, "redis.certificateAuthorities"), (.otherName, "redis.address"), (.silence, "tls-port"),
        (.other, "tls-auth-clients"),
    ])
    func `says what failed in TLS, and what to do about it`(cause: RedisTLSFailure.Cause, remedy: String) throws {
        let failure = RedisError.tls(RedisTLSFailure(cause, "some words"))
        let findings = RedisFindings(RedisObservations(info: .failure(failure)), try settings(smallest())).all
        #expect(findings.lines == ["error: Redis does not respond: TLS: some words"])
        #expect(findings.first?.advice?.contains(remedy) == true)
    }

    @Test func `says once what all primaries of a cluster have in common, and names those that differ`() throws {
        let old = Self.info.replacing("redis_version:7.0.15", with: "redis_version:6.0.16")
        let servers = [
            ("a:1", Result<String, RedisError>.success(Self.info)), ("b:1", .success(old)), ("c:1", .failure(.timeout)),
        ]
        .map { name, info in (name: name, observations: RedisObservations(info: info, save: "")) }
        #expect(
            RedisFindings.all(servers, try settings(smallest())).lines == [
                "ok: scripts run and write", "ok: eviction policy is noeviction", "ok: 1 % of maxmemory are in use",
                "ok: users' records are kept in an append-only file", "ok: a:1: Redis 7.0.15",
                "warning: b:1: Redis 6.0.16", "error: c:1: Redis does not respond: timeout",
            ])
    }

    @Test func `minds lost records only where there are records`() throws {
        let changes = [
            ("maxmemory_policy:noeviction", "maxmemory_policy:allkeys-lfu"), ("aof_enabled:1", "aof_enabled:0"),
            ("evicted_keys:0", "evicted_keys:12"),
        ]
        let wrong = try Self.lines(changes, settings: "entitlements: {enabled: false}").filter { !$0.hasPrefix("ok") }
        #expect(wrong == ["warning: eviction policy is allkeys-lfu; it has evicted 12 keys already"])
        let snapshots = try Self.lines([("aof_enabled:1", "aof_enabled:0")], save: "3600 1")
        #expect(snapshots.last == "warning: users' records are on disk only in snapshots")
    }

    @Test(arguments: [(false, "the audit's lines"), (true, "users' records and the audit's lines")])
    func `minds a lost audit as well, where it is in a stream`(hasRecords: Bool, names: String) throws {
        let more = "entitlements: {enabled: \(hasRecords)}, audit: {stream: 'audit'}"
        #expect(try Self.lines(settings: more).last == "ok: \(names) are kept in an append-only file")
        let memory = try Self.findings([("aof_enabled:1", "aof_enabled:0")], settings: more)
        let warning = try #require(memory.last)
        #expect(warning.level == .warning && warning.found == "\(names) are on disk only in snapshots")
        #expect(warning.advice?.contains("use audit.file") == true)
        let policy = ("maxmemory_policy:noeviction", "maxmemory_policy:allkeys-lru")
        let error = try #require(try Self.findings([policy], settings: more).first { $0.level == .error })
        #expect(error.found == "eviction policy is allkeys-lru" && error.why?.contains(names) == true)
        let file = more.replacing("stream: 'audit'", with: "file: '/var/log/audit'")
        let lines = try Self.lines(settings: file)
        #expect(!lines.contains { $0.contains("audit") })
    }

    @Test func `tells latency that comes near the timeout, and a script that is refused`() throws {
        let lines = try Self.lines(ping: .milliseconds(25), script: .refused(code: "READONLY"))
        #expect(
            lines.filter { !$0.hasPrefix("ok") } == [
                "error: a script is refused: readonly",
                "warning: PING takes 0.05 ms at the median, 25.00 ms at the 99th percentile; "
                    + "redis.timeoutMilliseconds is 40",
            ])
    }

    @Test(arguments: [
        (RedisError.unavailable, "error: Redis does not respond: unavailable"),
        (.refused(code: "NOAUTH"), "error: Redis does not respond: noauth"),
        (.refused(code: "NOPERM"), "warning: Redis does not let us send INFO"),
    ])
    func `tells why there is no answer`(error: RedisError, expected: String) throws {
        let findings = RedisFindings(RedisObservations(info: .failure(error)), try settings(smallest())).all
        #expect(findings.lines == [expected])
    }

    @Test(arguments: [RedisError.unavailable, .timeout, .refused(code: "BUSY"), .refused(code: "WRONGPASS")])
    func `gives the advice that the workers' health gives`(error: RedisError) throws {
        let findings = RedisFindings(RedisObservations(info: .failure(error)), try settings(smallest())).all
        #expect(findings.map(\.advice) == [error.advice])
    }
}
