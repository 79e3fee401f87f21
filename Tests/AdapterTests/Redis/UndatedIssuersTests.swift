import Foundation
import CloakroomLoop
import CloakroomRedis
@testable import CloakroomServer
import CloakroomTestSupport
import Synchronization
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

    @Test @LoopActor func `writes again after a minute what Redis refused, after a day what it took`() async throws {
        let folder = try TemporaryFolder()
        let writes = Atomic(0)
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, _ in
            guard command[0] == "SET" else { return [.reply("+PONG\r\n")] }
            let count = writes.add(1, ordering: .relaxed).newValue
            return [.reply(count == 1 ? "-OOM command not allowed\r\n" : "+OK\r\n")]
        }
        try await withRedis(folder["r.sock"]) { redis in
            #expect(await redis.becomesReady(within: .seconds(5)))
            var seconds: UInt64 = 0
            let worker = UndatedIssuers(redis: redis, keyPrefix: "c:", now: { seconds * 1_000_000_000 })
            for (pause, count) in [(0, 1), (59, 1), (1, 2), (60, 2), (86_339, 2), (1, 3)] as [(UInt64, Int)] {
                seconds += pause
                #expect(worker.note("https://b.example") == (seconds == 0))
                // The response to what was sent before is here by then.
                #expect(await redis.outcome("PING") == .success(.status("PONG")))
                #expect(writes.load(ordering: .relaxed) == count, "after \(seconds) s")
            }
        }
        withExtendedLifetime(server) {}
    }
}
