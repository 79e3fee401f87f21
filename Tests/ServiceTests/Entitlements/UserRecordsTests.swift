import CloakroomLoop
import CloakroomRedis
import CloakroomTestSupport
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
        #expect(try await records.dropCredentials(of: #require(user)) == 2)
        func scan(_ cursor: String) -> [String] { ["SCAN", cursor, "MATCH", "c:cred:{u_1}:*", "COUNT", "1000"] }
        #expect(
            redis.requests == [
                scan("0"), ["DEL", "c:cred:{u_1}:a"], ["DEL", "c:cred:{u_1}:b"], scan("7"), ["DEL", "c:cred:{u_1}:c"],
            ])
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
