import CloakroomLoop
import CloakroomTestSupport
import Testing

@testable import CloakroomRedis

/// What clients of several servers make of what these say, without a server.
@Suite(.onLoop)
struct FailoverRulesTests {
    private static func texts(_ words: String...) -> RedisReply { .array(words.map { .text(Array($0.utf8)) }) }

    private static let replicas = RedisReply.array([
        texts("10.0.0.2", "6379", "14"), texts("fd00::3", "6380", "14"), texts("10.0.0.4", "6379"), texts("10.0.0.5"),
        texts("10.0.0.6", "6379", "14", "x"), texts("10.0.0.7", "port", "14"), .null, texts(),
    ])

    @Test func `takes the replicas that a master names, each with its address, its port and how far it is`() {
        let master = RedisReply.text(Array("master".utf8))
        #expect(
            MasterTrial.replicas(in: .array([master, .integer(14), Self.replicas])) == [
                .internet(host: "10.0.0.2", port: 6379), .internet(host: "fd00::3", port: 6380),
            ])
        #expect(MasterTrial.replicas(in: .array([master, .integer(14), .array([])])) == [])
    }

    @Test(
        arguments: [
            .null, .array([]), .array([.text(Array("master".utf8)), .integer(14)]),
            .array([.text(Array("slave".utf8)), .integer(14), replicas]),
            .array([.text(Array("master".utf8)), .integer(14), .null]),
        ] as [RedisReply])
    func `takes none from what is no master's reply`(reply: RedisReply) {
        #expect(MasterTrial.replicas(in: reply) == nil)
    }

    @Test func `looks at a cluster's map less often while news goes on, and never less than ten times a second`() {
        var intervals = [Duration.milliseconds(20)]
        for isNews in [true, true, true, true, false, true] {
            intervals.append(RedisClusterClient.leastInterval(after: intervals[intervals.count - 1], isNews: isNews))
        }
        #expect(intervals == [20, 40, 80, 100, 100, 20, 40].map { .milliseconds($0) })
    }

    @Test(arguments: [(40, 500), (500, 500), (2000, 2000)])
    @LoopActor func `gives a node that has no requests half a second at least to tell its map`(
        timeout: Int, expected: Int
    ) {
        var options = RedisConnection.Options(address: .unix(path: "none"))
        options.timeout = .milliseconds(timeout)
        options.keepsSpare = true
        let nodes = ClusterNodes(configured: [], options: options)
        #expect(nodes.options.timeout == .milliseconds(expected) && !nodes.options.keepsSpare)
    }
}
