import CloakroomRedis
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct SentinelFindingsTests {
    private static let master = RedisAddress.internet(host: "10.0.0.9", port: 6379)

    private static func lines(
        _ masters: [Result<RedisAddress, RedisError>], host: String = "10.0.0", settings more: String = "",
        replicaRefusals: [(replica: RedisAddress, error: RedisError)] = []
    ) throws -> [String] {
        let statuses = masters.enumerated().map { number, master in
            RedisSentinels.Status(sentinel: .internet(host: "\(host).\(number + 1)", port: 26379), master: master)
        }
        let redis = try settings(smallest("redis: {sentinels: ['10.0.0.1:26379'], master: 'main', \(more)}")).redis
        return SentinelFindings(statuses, redis, replicaRefusals: replicaRefusals).all.lines
    }

    @Test func `names each sentinel that cannot be used`() throws {
        let works = Result<RedisAddress, RedisError>.success(Self.master)
        #expect(try Self.lines([works, works, works]) == ["ok: all 3 sentinels name a master"])
        #expect(
            try Self.lines([works, works, .failure(.unavailable)]) == [
                "warning: 1 of 3 sentinels name no master: 10.0.0.3:26379 (unavailable)"
            ])
        #expect(
            try Self.lines([works, .failure(.refused(code: "WRONGPASS")), .failure(.timeout)]) == [
                "error: 2 of 3 sentinels name no master: 10.0.0.2:26379 (wrongpass), 10.0.0.3:26379 (timeout)"
            ])
        // Half of them are no majority.
        #expect(
            try Self.lines([works, .failure(.timeout)]) == [
                "error: 1 of 2 sentinels name no master: 10.0.0.2:26379 (timeout)"
            ])
    }

    @Test func `names each replica that would serve nothing after a failover`() throws {
        let refusals: [(replica: RedisAddress, error: RedisError)] = [
            (.internet(host: "10.0.0.7", port: 6379), .refused(code: "WRONGPASS")),
            (.internet(host: "10.0.0.8", port: 6379), .refused(code: "NOPERM")),
        ]
        #expect(
            try Self.lines([.success(Self.master)], replicaRefusals: refusals).last
                == "error: replicas refuse the user that the master takes: 10.0.0.7:6379 (WRONGPASS), "
                + "10.0.0.8:6379 (NOPERM)")
    }

    @Test func `names sentinels that differ`() throws {
        let other = RedisAddress.internet(host: "10.0.0.8", port: 6379)
        #expect(
            try Self.lines([.success(Self.master), .success(other)]).last
                == "warning: the sentinels name different masters: 10.0.0.1:26379 names 10.0.0.9:6379, "
                + "10.0.0.2:26379 names 10.0.0.8:6379")
    }

    @Test(arguments: [
        ("10.0.0", "password: {env: 'SIGNING'}", true),
        ("10.0.0", "password: {env: 'SIGNING'}, sentinelPassword: {env: 'SIGNING'}", false),
        ("10.0.0", "", false),
        ("127.0.0", "password: {env: 'SIGNING'}", false),
    ])
    func `warns of sentinels that need no password`(host: String, more: String, warns: Bool) throws {
        let lines = try Self.lines([.success(Self.master)], host: host, settings: more)
        #expect(lines.contains("warning: the sentinels take requests without a password") == warns, "\(lines)")
    }
}
