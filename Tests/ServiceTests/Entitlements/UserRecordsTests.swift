import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct UserRecordsTests {
    private let user = UserID("u_1")

    @Test @LoopActor func `each user has a key, whose braces keep it in one slot with others of the user`() throws {
        #expect(UserRecords.key(of: try #require(user), prefix: "c:") == "c:user:{u_1}")
    }

    @Test @LoopActor func `credentials of a user are dropped wherever Redis has some, and counted`() async throws {
        let redis = FakeRedis([
            "*2\r\n" + .redisText("7") + .redisArray(["c:cred:{u_1}:a", "c:cred:{u_1}:b"]), ":1\r\n", ":0\r\n",
            "*2\r\n" + .redisText("0") + .redisArray(["c:cred:{u_1}:c"]), ":1\r\n",
        ])
        let records = UserRecords(redis: redis, keyPrefix: "c:")
        #expect(try await records.dropCredentials(of: user) == 2)
        func scan(_ cursor: String) -> [String] { ["SCAN", cursor, "MATCH", "c:cred:{u_1}:*", "COUNT", "1000"] }
        #expect(
            redis.requests == [
                scan("0"), ["DEL", "c:cred:{u_1}:a"], ["DEL", "c:cred:{u_1}:b"], scan("7"), ["DEL", "c:cred:{u_1}:c"],
            ])
    }

    private static let full = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"

    @Test @LoopActor func `a change that takes access is sent once more where Redis has no memory, no other is`()
        async throws
    {
        let user = try #require(user)
        let redis = FakeRedis([Self.full, ":1\r\n", Self.full])
        let records = UserRecords(redis: redis, keyPrefix: "c:")
        try await records.disable(user, reason: "test")
        #expect(redis.requests.count == 2)
        // With the same keys and arguments, by another script.
        #expect(Set(redis.requests.map { Array($0.dropFirst(2)) }).count == 1)
        #expect(Set(redis.requests.map { $0[1] }).count == 2)
        await #expect(throws: UserRecordError.redis(.refused(code: "OOM"))) {
            try await records.recordUsage(1, of: user)
        }
        #expect(redis.requests.count == 3)
    }

    @Test @LoopActor func `a full Redis that does not know the scripts' flag is said to be full`() async throws {
        let user = try #require(user)
        let redis = FakeRedis([Self.full, "-ERR Error compiling script (new function)\r\n"])
        let records = UserRecords(redis: redis, keyPrefix: "c:")
        await #expect(throws: UserRecordError.redis(.refused(code: "OOM"))) {
            try await records.disable(user, reason: "test")
        }
        #expect(redis.requests.count == 2)
    }

    @Test @LoopActor func `credentials of all users are dropped, too`() async throws {
        let redis = FakeRedis(["*2\r\n" + .redisText("0") + .redisArray(["c:cred:{u_1}:a"]), ":1\r\n"])
        #expect(try await UserRecords(redis: redis, keyPrefix: "c:").dropCredentials(of: nil) == 1)
        #expect(
            redis.requests == [
                ["SCAN", "0", "MATCH", "c:cred:{*", "COUNT", "1000"], ["DEL", "c:cred:{u_1}:a"],
            ])
    }

    @Test @LoopActor func `credentials of several users are dropped in one pass`() async throws {
        let keys = ["c:cred:{u_1}:a", "c:cred:{u_10}:a", "c:cred:{u_2}:a", "c:cred:{u_2}:a:lock"]
        let redis = FakeRedis(["*2\r\n" + .redisText("0") + .redisArray(keys), ":1\r\n", ":1\r\n", ":0\r\n"])
        let users: Set<UserID> = [try #require(UserID("u_1")), try #require(UserID("u_2"))]
        #expect(try await UserRecords(redis: redis, keyPrefix: "c:").dropCredentials(of: users) == 2)
        #expect(
            redis.requests == [
                ["SCAN", "0", "MATCH", "c:cred:{*", "COUNT", "1000"], ["DEL", keys[0]], ["DEL", keys[2]],
                ["DEL", keys[3]],
            ])
    }

    // MARK: Servers

    /// No keys, where to go on, and of which process that is.
    private static func step(_ next: String, _ process: String) -> String {
        let info = "# Server\r\nrun_id:\(process)\r\n"
        return "*2\r\n\(String.redisText(next))*0\r\n\(String.redisText(info))"
    }

    @Test @LoopActor func `a server that has restarted between two steps may have credentials left`() async throws {
        let redis = FakeRedis([Self.step("7", "a"), Self.step("9", "b")])
        let records = UserRecords(redis: redis, keyPrefix: "c:")
        await #expect(throws: UserRecordError.redis(.refused(code: "NOCURSOR"))) {
            _ = try await records.dropCredentials(of: nil)
        }
        #expect(redis.requests.map { $0[1] } == ["0", "7"])
    }

    @Test @LoopActor func `a list goes on from a number alone, as lists of earlier versions ended`() async throws {
        let redis = FakeRedis([Self.step("9", "a"), Self.step("0", "a")])
        let records = UserRecords(redis: redis, keyPrefix: "c:")
        let next = try await records.page(from: "7").next
        #expect(next.count == 18 && next.hasSuffix(":9"))
        #expect(try await records.page(from: next).next == "0")
        #expect(redis.requests.map { $0[1] } == ["7", "9"])
    }

    // MARK: Records

    @Test(arguments: [("1800000000", 43_199.0), ("1800000000", 43_200), ("now", 0), (nil, 0)] as [(String?, Double)])
    @LoopActor func `a record has to tell of a revocation for as long as a session may last`(
        field: String?, seconds: Double
    ) async throws {
        let revocation = Date(timeIntervalSince1970: 1_800_000_000)
        let redis = FakeRedis([.redisArray([field])])
        let records = UserRecords(redis: redis, keyPrefix: "c:")
        let end = try await records.revocationEnd(
            of: #require(user), at: revocation.addingTimeInterval(seconds), by: settings(smallest()))
        #expect(end == (seconds == 43_199 ? revocation.addingTimeInterval(43_200) : nil))
    }

    /// A worker that goes on without Redis may have continued a session to the end of its age.
    @Test(
        arguments: [
            ("", "", 43_199, 43_200), ("", "", 43_200, nil),
            ("lifetimeSeconds: 86400", "", 46_800, 86_430), ("lifetimeSeconds: 86400", "", 86_430, nil),
            ("", "limits: {session: {whenRedisIsAway: 'open'}}", 86_430, 2_592_030),
            ("", "limits: {session: {whenRedisIsAway: 'open'}}", 2_592_030, nil),
        ] as [(String, String, Double, Double?)])
    @LoopActor func `a record has to tell of a revocation for as long as a session token may live`(
        session: String, limits: String, seconds: Double, expected: Double?
    ) async throws {
        let keys = "issuer: 'https://own.example', keys: [{keyID: '1', secret: {env: 'SESSION'}}]"
        let settings = try settings(
            smallest("session: {\(keys), \(session)}, \(limits)", issuer: "for: 'session'"),
            environment: ["SESSION": "k3Vw9sQe7RtY1uIo5PaS8dFg2HjK4lZx"])
        let revocation = Date(timeIntervalSince1970: 1_800_000_000)
        let records = UserRecords(redis: FakeRedis([.redisArray(["1800000000"])]), keyPrefix: "c:")
        let end = try await records.revocationEnd(
            of: #require(user), at: revocation.addingTimeInterval(seconds), by: settings)
        #expect(end == expected.map { revocation.addingTimeInterval($0) })
    }

    @Test @LoopActor func `tells whether there is a record, and does not guess`() async throws {
        let user = try #require(user)
        func record(_ updated: String?) -> String {
            .redisArray([updated] + [String?](repeating: nil, count: UserRecord.requestFields.count - 1))
        }
        for (reply, expected) in [
            (record(nil), false), (record("1800000000"), true), (record("never"), true),
            ("-LOADING Redis is loading\r\n", nil),
        ] as [(String, Bool?)] {
            let records = UserRecords(redis: FakeRedis([reply]), keyPrefix: "c:")
            #expect(await records.hasRecord(of: user) == expected)
        }
    }

    @Test(
        arguments: [
            (
                .replicas(reached: 0, of: 2),
                "none of Redis' 2 replicas has it after a second: if the master fails now, it is lost; run this again"
            ),
            (.replicas(reached: 1, of: 2), "1 of Redis' 2 replicas have it"),
            (.noReplicas, "Redis has no replicas: if the master fails, it is lost; start them, and run this again"),
            (
                .unknown(.refused(code: "NOPERM")),
                "how many of Redis' replicas have it is not known (noperm): the Redis user needs +info and +wait"
            ),
            (.unknown(.timeout), "how many of Redis' replicas have it is not known (timeout); run this again"),
        ] as [(RecordReplication, String)])
    func `the operator is told on how many replicas a change is`(replication: RecordReplication, sentence: String) {
        #expect(replication.sentence == sentence)
    }
}
