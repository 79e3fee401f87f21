@testable import CloakroomOperations
import CloakroomLoop
import CloakroomRedis
import CloakroomServer
import CloakroomTestSupport
import Testing

/// Whether a change of a record would outlast the master.
@Suite(.onLoop, .timeLimit(.minutes(2)))
struct ReplicationTests {
    @Test @LoopActor func `says on how many replicas a record is`() async throws {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 2, sentinels: 0) }
        try await withRedis("") {
            $0.address = .internet(host: "127.0.0.1", port: cluster.servers[0])
        } _: { redis in
            let records = UserRecords(redis: redis, keyPrefix: "c:")
            let user = try #require(UserID("u_1"))
            #expect(
                await becomes {
                    try? await records.disable(user, reason: "test")
                    return await records.replication(of: user) == .replicas(reached: 2, of: 2)
                })
            cluster.pause(cluster.servers[2])
            try await records.disable(user, reason: "test")
            #expect(await records.replication(of: user) == .replicas(reached: 1, of: 2))
            #expect(await redis.outcome("ACL", "SETUSER", "default", "-wait") == .success(.status("OK")))
            #expect(await records.replication(of: user) == .unknown(.refused(code: "NOPERM")))
        }
    }

    @Test @LoopActor func `asks the server of a cluster that has the record`() async throws {
        let cluster = try await onThread { try RedisClusterServers() }
        var server = RedisConnection.Options(address: .internet(host: "127.0.0.1", port: cluster.ports[0]))
        server.timeout = .seconds(5)
        let redis = RedisClusterClient(options: RedisClusterClient.Options(nodes: [server.address], server: server))
        defer { redis.close() }
        await redis.settle(within: .seconds(10))
        // On two primaries, of which one's replica stops.
        let (kept, other) = (try #require(UserID("u_1")), try #require(UserID("u_2")))
        let records = UserRecords(redis: redis, keyPrefix: "c:")
        for user in [kept, other] { try await records.disable(user, reason: "test") }
        #expect(await becomes { await records.replication(of: kept) == .replicas(reached: 1, of: 1) })
        let replica = try await onThread { try cluster.replica(ofKey: "c:user:{u_2}") }
        cluster.pause(try #require(replica))
        try await records.disable(other, reason: "again")
        #expect(await records.replication(of: other) == .replicas(reached: 0, of: 1))
        try await records.disable(kept, reason: "again")
        #expect(await records.replication(of: kept) == .replicas(reached: 1, of: 1))
    }

    @Test @LoopActor func `says nothing of replicas where there are none`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            let user = try #require(UserID("u_1"))
            #expect(await UserRecords(redis: redis, keyPrefix: "c:").replication(of: user) == nil)
        }
    }

    @Test(arguments: [
        (RecordReplication.replicas(reached: 2, of: 2), "2 of Redis' 2 replicas have it"),
        (
            .replicas(reached: 0, of: 2),
            "none of Redis' 2 replicas has it after a second: if the master fails now, it is lost; run this again"
        ),
        (
            .unknown(.refused(code: "NOPERM")),
            "how many of Redis' replicas have it is not known (noperm): the Redis user needs +wait"
        ),
    ])
    func `tells the operator`(replication: RecordReplication, sentence: String) {
        #expect(replication.sentence == sentence)
    }
}
