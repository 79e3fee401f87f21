import CloakroomTestSupport
import Foundation
import Testing

extension EndToEnd {
    /// A worker whose Redis is a master with two replicas and three sentinels.
    @Suite struct RedisSentinel {
        @Test func `a worker goes on with the next master, without a restart, and commands find it as well`() throws {
            let cluster = try RedisSentinelServers()
            let options = Stack.Options(
                redis: false,
                settings: {
                    $0["redis.address"] = nil
                    $0["redis.sentinels"] = cluster.sentinels.map { "127.0.0.1:\($0)" }
                    $0["redis.master"] = RedisSentinelServers.master
                    // A 200 means that Redis has counted.
                    $0["limits.upload.whenRedisIsAway"] = "closed"
                    $0["limits.upload.requests"] = 1_000_000
                })
            try Stack.run("redis-sentinel", options) { stack in
                let token = Tokens.fresh()
                func waitForCount() throws {
                    try wait(for: "a count in Redis", within: .seconds(60)) {
                        try stack.ask(.presign(token)).status == 200
                    }
                }
                try waitForCount()
                let disabled = try Command(["user", "disable", "u_other", stack.settingsFile])
                #expect(disabled.status == 0 && disabled.text.contains(" of Redis' "), "\(disabled.text)")

                cluster.kill(cluster.servers[0])
                try waitForCount()
                let masters = stack.logLines("Redis has a master").map { $0["address"] as? String }
                #expect(masters.count == 2 && masters.first == "127.0.0.1:\(cluster.servers[0])", "\(masters)")
                // One that ends before it has told the others of the next master leaves them with the former one.
                try wait(for: "the sentinels to name the next master", within: .seconds(60)) {
                    try cluster.sentinels.allSatisfy {
                        try !cluster.namedMaster(by: $0).contains("\(cluster.servers[0])")
                    }
                }
                cluster.kill(cluster.sentinels[2])
                let doctor = try Command(["doctor", "--only", "redis", "--settings", stack.settingsFile])
                let unusable = "1 of 3 sentinels name no master: 127.0.0.1:\(cluster.sentinels[2]) (unavailable)"
                #expect(doctor.text.contains(unusable), "\(doctor.text)")
                let record = try Command(["user", "get", "u_other", "--json", stack.settingsFile])
                #expect(record.text.contains("\"disabled\":true"), "\(record.text)")
            }
        }
    }
}
