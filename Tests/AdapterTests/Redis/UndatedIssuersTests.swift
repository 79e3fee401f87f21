import Foundation
import CloakroomLoop
import CloakroomRedis
@testable import CloakroomServer
import CloakroomTestSupport
import Testing

@Suite(.onLoop, .timeLimit(.minutes(1)))
struct UndatedIssuersTests {
    @Test @LoopActor func `names the issuers that were seen, for a month`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            let worker = UndatedIssuers(redis: redis, keyPrefix: "c:")
            #expect(worker.note("https://b.example") && !worker.note("https://b.example"))
            let command = UndatedIssuers(redis: redis, keyPrefix: "c:")
            #expect(try await command.seen(among: ["https://a.example", "https://b.example"]) == ["https://b.example"])
            let end = try await redis.send(RedisCommand(["TTL", "c:undated:https://b.example"]))
            #expect(end == .integer(2_592_000) || end == .integer(2_591_999))
        }
    }
}
