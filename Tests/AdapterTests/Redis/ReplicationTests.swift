@testable import CloakroomOperations
import CloakroomLoop
import CloakroomRedis
import CloakroomServer
import CloakroomTestSupport
import Foundation
import Testing

/// Whether a change of a record would outlast the master.
@Suite(.onLoop, .timeLimit(.minutes(2)))
struct ReplicationTests {
    @Test @LoopActor func `says on how many replicas a record is`() async throws {
        let cluster = try await onThread { try RedisSentinelServers(replicas: 2, sentinels: 0) }
        try await withServer(cluster.servers[0]) { redis in
            #expect(await becomes { await disabled(redis) == .success(.replicas(reached: 2, of: 2)) })
            cluster.pause(cluster.servers[2])
            #expect(await disabled(redis) == .success(.replicas(reached: 1, of: 2)))
            for right in ["wait", "info"] {
                #expect(await redis.outcome("ACL", "SETUSER", "default", "-\(right)") == .success(.status("OK")))
                #expect(await disabled(redis) == .success(.unknown(.refused(code: "NOPERM"))))
                #expect(await redis.outcome("ACL", "SETUSER", "default", "+\(right)") == .success(.status("OK")))
            }
        }
    }

    @Test @LoopActor func `waits for the replicas of the server of a cluster that has the record`() async throws {
        let cluster = try await onThread { try RedisClusterServers() }
        try await withCluster(cluster) { redis in
            // On two primaries, of which one's replica stops.
            #expect(await becomes { await disabled(redis, "u_1") == .success(.replicas(reached: 1, of: 1)) })
            #expect(await becomes { await disabled(redis, "u_2") == .success(.replicas(reached: 1, of: 1)) })
            let replica = try await onThread { try cluster.replica(ofKey: "c:user:{u_2}") }
            cluster.pause(try #require(replica))
            #expect(await disabled(redis, "u_2") == .success(.replicas(reached: 0, of: 1)))
            #expect(await disabled(redis, "u_1") == .success(.replicas(reached: 1, of: 1)))
        }
    }

    /// The client has the map of before; the slot is being moved first, and moved then.
    @Test @LoopActor func `waits for the replicas of the server that a cluster redirects to`() async throws {
        let cluster = try await onThread { try RedisClusterServers() }
        try await withCluster(cluster) { redis in
            #expect(await becomes { await disabled(redis, "u_1") == .success(.replicas(reached: 1, of: 1)) })
            let primaries = Array(cluster.ports.prefix(RedisClusterServers.primaries))
            let target = try await onThread {
                let slot = try cluster.command(["-p", "\(primaries[0])", "CLUSTER", "KEYSLOT", "{u_1}"])
                    .trimmingCharacters(in: .whitespacesAndNewlines)
                let source = try #require(
                    primaries.first {
                        try cluster.command(["-p", "\($0)", "EXISTS", "c:user:{u_1}"]).hasPrefix("1")
                    })
                let target = try #require(primaries.first { $0 != source })
                let names = (try cluster.name(of: source), try cluster.name(of: target))
                try cluster.command(["-p", "\(target)", "CLUSTER", "SETSLOT", slot, "IMPORTING", names.0])
                try cluster.command(["-p", "\(source)", "CLUSTER", "SETSLOT", slot, "MIGRATING", names.1])
                try cluster.command(
                    ["-p", "\(source)", "MIGRATE", "127.0.0.1", "\(target)", "c:user:{u_1}", "0", "1000"])
                let replicas = try cluster.ports.dropFirst(RedisClusterServers.primaries).filter {
                    try cluster.command(["-p", "\($0)", "ROLE"]).contains("\(target)")
                }
                for replica in replicas { cluster.pause(replica) }
                return (port: target, name: names.1, slot: slot, replicas: replicas)
            }
            #expect(await disabled(redis, "u_1") == .success(.replicas(reached: 0, of: 1)))
            try await onThread {
                // Valkey gives a server no slot that its replicas do not hear of.
                for replica in target.replicas { cluster.resume(replica) }
                for port in [target.port] + primaries.filter({ $0 != target.port }) {
                    try cluster.command(["-p", "\(port)", "CLUSTER", "SETSLOT", target.slot, "NODE", target.name])
                }
                for replica in target.replicas { cluster.pause(replica) }
            }
            #expect(await disabled(redis, "u_1") == .success(.replicas(reached: 0, of: 1)))
        }
    }

    @Test @LoopActor func `says nothing of replicas where none is to be`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            #expect(await disabled(redis, hasFailover: false) == .success(nil))
            #expect(await disabled(redis) == .success(.noReplicas))
        }
    }

    /// The record keeps the later one: that is no change which was lost.
    @Test @LoopActor func `makes an earlier revocation than the last one once`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            let records = UserRecords(redis: redis, keyPrefix: "c:")
            let user = try #require(UserID("u_1"))
            let time = Date(timeIntervalSince1970: 1_800_000_000)
            for seconds in [7200.0, 0] {
                var change = UserRecordChange()
                change.revokedBefore(time.addingTimeInterval(seconds))
                let replication = try await records.applyReplicated(
                    change, to: user, hasFailover: false, timeout: .zero)
                #expect(replication == nil)
            }
            #expect(try await records.record(of: user)?.revokedBefore == time.addingTimeInterval(7200))
        }
    }

    // MARK: Failovers

    @Test(arguments: [MovedRedis.Loss.none, .response])
    @LoopActor func `makes a change again that the former master took`(loss: MovedRedis.Loss) async throws {
        let (old, new) = try await onThread {
            (try RedisSentinelServers(replicas: 1, sentinels: 0), try RedisSentinelServers(replicas: 1, sentinels: 0))
        }
        try await withServer(old.servers[0]) { old in
            try await withServer(new.servers[0]) { new in
                for redis in [old, new] {
                    #expect(await becomes { await disabled(redis, "u_2") == .success(.replicas(reached: 1, of: 1)) })
                }
                // The count of replicas, and the change with its WAIT.
                let redis = MovedRedis(old, new, after: 2, loss: loss)
                #expect(await disabled(redis) == .success(.replicas(reached: 1, of: 1)))
                #expect(await new.outcome("HGET", "c:user:{u_1}", "disabled") == .success(.text(Array("1".utf8))))
            }
        }
    }

    @Test @LoopActor func `says that it is not known whether a change was made, or that it was lost`() async throws {
        let folder = try TemporaryFolder()
        let servers = try await onThread {
            [try RedisServer(path: folder["a.sock"]), try RedisServer(path: folder["b.sock"])]
        }
        try await withRedis(servers[0].path) { old in
            try await withRedis(servers[1].path) { new in
                let silent = MovedRedis(old, new, after: .max, loss: .response)
                #expect(await disabled(silent, timeout: .milliseconds(300)) == .failure(.unknown(.interrupted)))
                let forgetful = MovedRedis(old, new, after: 2, loss: .none)
                #expect(await disabled(forgetful, timeout: .zero) == .failure(.lost))
                new.close()
                #expect(
                    await disabled(MovedRedis(old, new, after: 2, loss: .none), timeout: .zero)
                        == .failure(.unknown(.unavailable)))
                #expect(await disabled(new) == .failure(.records(.redis(.unavailable))))
            }
        }
    }

    // MARK: Sentences

    @Test(arguments: [
        (RecordReplication.replicas(reached: 2, of: 2), "2 of Redis' 2 replicas have it"),
        (
            .replicas(reached: 0, of: 2),
            "none of Redis' 2 replicas has it after a second: if the master fails now, it is lost; run this again"
        ),
        (.noReplicas, "Redis has no replicas: if the master fails, it is lost; start them, and run this again"),
        (
            .unknown(.refused(code: "NOPERM")),
            "how many of Redis' replicas have it is not known (noperm): the Redis user needs +info and +wait"
        ),
    ])
    func `tells the operator`(replication: RecordReplication, sentence: String) {
        #expect(replication.sentence == sentence)
    }

    // MARK: Parts

    @LoopActor private func disabled(
        _ redis: any RedisClient, _ id: String = "u_1", hasFailover: Bool = true,
        timeout: Duration = UserRecords.changeTimeout
    ) async -> Result<RecordReplication?, RecordChangeError> {
        guard let user = UserID(id) else { return .failure(.lost) }
        var change = UserRecordChange()
        change.disabled("test")
        let records = UserRecords(redis: redis, keyPrefix: "c:")
        do throws(RecordChangeError) {
            return .success(
                try await records.applyReplicated(change, to: user, hasFailover: hasFailover, timeout: timeout))
        } catch {
            return .failure(error)
        }
    }

    @LoopActor private func withServer(
        _ port: UInt16, _ body: @LoopActor (RedisConnection) async throws -> Void
    ) async throws {
        try await withRedis("", { $0.address = .internet(host: "127.0.0.1", port: port) }, body)
    }

    @LoopActor private func withCluster(
        _ cluster: RedisClusterServers, _ body: @LoopActor (RedisClusterClient) async throws -> Void
    ) async throws {
        var server = RedisConnection.Options(address: .internet(host: "127.0.0.1", port: cluster.ports[0]))
        server.timeout = .seconds(5)
        let redis = RedisClusterClient(options: RedisClusterClient.Options(nodes: [server.address], server: server))
        defer { redis.close() }
        await redis.settle(within: .seconds(10))
        try await body(redis)
    }
}

/// The way to a master that another one replaces after some requests.
@LoopActor
final class MovedRedis: RedisClient {
    enum Loss: Sendable { case none, response }

    private let servers: (former: RedisConnection, next: RedisConnection)
    private let limit: Int
    private let loss: Loss
    private var count = 0
    var onRepeat: (@LoopActor () -> Void)?
    /// What the former master runs once it has run a request, before that has its response.
    var next: (@LoopActor (RedisRequest) -> RedisRequest?)?
    /// What is sent in the place of a request.
    var replacement: (@LoopActor (RedisRequest) -> RedisRequest?)?
    /// Of which requests to the former master the responses are lost besides.
    var loses: (@LoopActor (RedisRequest) -> Bool)?

    /// - Parameters:
    ///   - limit: how many requests the former master gets.
    ///   - loss: what is lost of the second request to it.
    init(_ former: RedisConnection, _ next: RedisConnection, after limit: Int, loss: Loss) {
        servers = (former, next)
        self.limit = limit
        self.loss = loss
    }

    var isReady: Bool { true }
    var refusal: RedisError? { nil }
    var pendingCount: Int { 0 }
    var currentServers: [RedisAddress] { [] }
    func settle(within limit: Duration) async {}
    func close() {}

    func send(_ request: RedisRequest, _ completion: @escaping @LoopActor (RedisResponse) -> Void) {
        count += 1
        let request = replacement?(request) ?? request
        guard count <= limit else { return servers.next.send(request, completion) }
        let isChosen = loses?(request) ?? false
        let isLost = isChosen || loss == .response && count.isMultiple(of: 2)
        servers.former.send(request) { [self] response in
            let response = isLost ? .failure(.interrupted) : response
            guard let more = next?(request) else { return completion(response) }
            servers.former.send(more) { _ in completion(response) }
        }
    }
}
