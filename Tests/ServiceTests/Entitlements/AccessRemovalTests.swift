import CloakroomLoop
import CloakroomRedis
import Foundation
import Testing

@testable import CloakroomServer

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct AccessRemovalTests {
    private static let replicas = String.redisText("# Replication\r\nconnected_slaves:2\r\n")
    private static let disabled = String.redisArray(["1", "consent-revoked", "1800000000"])
    private static let enabled = String.redisArray([nil, nil, nil])
    /// Before what is shared ends, and after.
    private static let sharesNothing = [String.redisArray([nil]), .redisArray([nil, nil]), .redisArray([nil, nil])]

    /// - Returns: why it failed, and the names of the commands that were sent.
    @LoopActor private func run(
        _ replies: [String], hasFailover: Bool = true, timeout: Duration = .zero
    ) async throws -> (failure: AccessRemoval.Failure?, commands: [String]) {
        let redis = FakeRedis(replies)
        let shared: any RedisClient = hasFailover ? UnreachableRedis() : redis
        let connect: AccessRemoval.Connect = { redis }
        let records = UserRecords(
            redis: shared, keyPrefix: "c:", now: { Date(timeIntervalSince1970: 1_800_000_000) })
        let removal = AccessRemoval(
            records, connect: hasFailover ? connect : nil, timeout: timeout, log: Log(sink: nil, level: .error))
        let user = try #require(UserID("u_1"))
        do throws(AccessRemoval.Failure) {
            try await removal.run(for: user, reason: "consent-revoked")
            return (nil, redis.requests.map { $0[0] })
        } catch {
            return (error, redis.requests.map { $0[0] })
        }
    }

    private static let ends: [([String], AccessRemoval.Failure?)] = [
        (thenSharing(replicas, ":1\r\n:1\r\n", disabled), nil),
        // What is shared ends all the same.
        (thenSharing(replicas, ":1\r\n:0\r\n", disabled), .replicas),
        ([replicas, ":1\r\n:2\r\n", enabled], .redis), ([replicas, "-READONLY replica\r\n"], .redis),
        (thenSharing(.redisText("connected_slaves:0"), ":1\r\n", disabled), nil),
        (thenSharing("-NOPERM no info\r\n", ":1\r\n", disabled), nil),
        (thenSharing("-ERR unknown command 'INFO'\r\n", ":1\r\n", disabled), nil),
        (thenSharing("-LOADING data\r\n", ":1\r\n", disabled), .replicas),
    ]

    private static func thenSharing(_ replies: String...) -> [String] { replies + sharesNothing }

    @Test(arguments: ends)
    @LoopActor func `a user is disabled once the record is seen to say so, and a replica has it if there is one`(
        replies: [String], failure: AccessRemoval.Failure?
    ) async throws {
        let result = try await run(replies)
        #expect(result.failure == failure && result.commands.count == replies.count, "\(result)")
    }

    @Test @LoopActor func `a change that the next master lacks is made again`() async throws {
        let lost = [Self.replicas, ":1\r\n:2\r\n", Self.enabled]
        let made = [Self.replicas, ":1\r\n:1\r\n", Self.disabled]
        let result = try await run(lost + made + Self.sharesNothing, timeout: .seconds(30))
        #expect(result.failure == nil && result.commands.count { $0 == "EVALSHA" } == 2, "\(result)")
    }

    @Test @LoopActor func `nothing waits for replicas of a single server`() async throws {
        let result = try await run([":1\r\n", .redisArray([nil]), .redisArray([nil, nil])], hasFailover: false)
        #expect(result.failure == nil && result.commands == ["EVALSHA", "HMGET", "HMGET"], "\(result)")
        #expect(try await run(["-READONLY replica\r\n"], hasFailover: false).failure == .redis)
    }
}
