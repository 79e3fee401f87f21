import Foundation
import CloakroomLoop
import CloakroomRedis
@testable import CloakroomOperations
@testable import CloakroomServer
import CloakroomTestSupport
import Testing

/// Users' records in a real Redis.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct UserRecordsTests {
    private let user = UserID("u_1")!
    private let time = Date(timeIntervalSince1970: 1_800_000_000)

    @LoopActor private func withRecords(_ body: @LoopActor (UserRecords, RedisConnection) async throws -> Void)
        async throws
    {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let time = time
        try await withRedis(server.path) { redis in
            try await body(UserRecords(redis: redis, keyPrefix: "c:", now: { time }), redis)
        }
    }

    @Test @LoopActor func `keeps what is set, and forgets what is taken away`() async throws {
        try await withRecords { records, redis in
            #expect(try await records.record(of: user) == nil)
            var change = UserRecordChange()
            change.tier("pro")
            change.subscriptionEnd(time.addingTimeInterval(86_400))
            change.storageLimit(1 << 40)
            change.storageUsed(7)
            try await records.apply(change, to: user)
            var expected = UserRecord()
            expected.tier = "pro"
            expected.subscriptionEnd = time.addingTimeInterval(86_400)
            expected.storageLimit = 1 << 40
            expected.storageUsed = 7
            expected.updated = time
            #expect(try await records.record(of: user) == expected)
            change = UserRecordChange()
            change.tier(nil)
            change.subscriptionEnd(nil)
            change.storageLimit(.max)
            try await records.apply(change, to: user)
            (expected.tier, expected.subscriptionEnd, expected.storageLimit) = (nil, nil, .max)
            #expect(try await records.record(of: user) == expected)
            #expect(await redis.outcome("KEYS", "*") == .success(.array([.text(Array("c:user:{u_1}".utf8))])))
            #expect(try await records.delete(user).isDeleted)
            #expect(try await !records.delete(user).isDeleted)
            #expect(try await records.record(of: user) == nil)
        }
    }

    @Test @LoopActor func `disables and enables`() async throws {
        try await withRecords { records, redis in
            try await records.disable(user, reason: "account-deleted")
            #expect(try await records.record(of: user)?.isDisabled == true)
            #expect(
                await redis.outcome("HGET", "c:user:{u_1}", "disabledReason")
                    == .success(.text(Array("account-deleted".utf8))))
            #expect(try await records.enable(user))
            #expect(try await records.record(of: user)?.isDisabled == false)
            #expect(await redis.outcome("HEXISTS", "c:user:{u_1}", "disabledReason") == .success(.integer(0)))
        }
    }

    @Test @LoopActor func `keeps the later of two revocations, and replaces what no command writes`() async throws {
        try await withRecords { records, redis in
            for (seconds, expected) in [(0, 0), (7200, 7200), (15, 7200), (7200, 7200), (7201, 7201)]
                as [(Double, Double)]
            {
                var change = UserRecordChange()
                change.revokedBefore(time.addingTimeInterval(seconds))
                try await records.apply(change, to: user)
                #expect(try await records.record(of: user)?.revokedBefore == time.addingTimeInterval(expected))
                #expect(try await records.holds(records.dated(change), user))
            }
            for value in ["now", "-1", "", "1.5", "0x7FFFFFFF", "253402300800", String(repeating: "9", count: 400)] {
                _ = await redis.outcome("HSET", "c:user:{u_1}", "revokedBefore", value)
                var change = UserRecordChange()
                change.revokedBefore(time)
                try await records.apply(change, to: user)
                #expect(try await records.record(of: user)?.revokedBefore == time, "\(value)")
            }
            var later = UserRecordChange()
            later.revokedBefore(time.addingTimeInterval(1))
            #expect(try await !records.holds(later, user))
        }
    }

    @Test @LoopActor func `makes nobody a known user by counting their storage`() async throws {
        try await withRecords { records, _ in
            try await records.recordUsage(12, of: user)
            #expect(try await records.record(of: user) == nil)
            let enabled = try await records.enable(user)
            #expect(!enabled)
            #expect(try await records.record(of: user) == nil)
            try await records.disable(user, reason: "test")
            #expect(try await records.record(of: user)?.storageUsed == 12)
        }
    }

    @Test @LoopActor func `makes no record by enabling a user without one`() async throws {
        try await withRecords { records, redis in
            let enabled = try await records.enable(user)
            #expect(!enabled)
            #expect(await redis.outcome("EXISTS", "c:user:{u_1}") == .success(.integer(0)))
            _ = await redis.outcome("SET", "c:user:{u_1}", "x")
            await #expect(throws: UserRecordError.malformed(nil)) { try await records.enable(user) }
        }
    }

    @Test(arguments: [
        ("tier", ""), ("tier", "two words"), ("tier", "\u{FF}"), ("tier", String(repeating: "x", count: 65)),
        ("subscriptionEnd", "2026-01-01T00:00:00Z"), ("subscriptionEnd", "-1"), ("subscriptionEnd", "253402300800"),
        ("storageUsed", "1.5"), ("storageUsed", "-1"), ("storageUsed", "9999999999999999999"), ("storageLimit", "much"),
        ("disabled", "yes"), ("disabled", "2"), ("disabled", ""), ("revokedBefore", "now"),
        ("acceptUndatedTokens", "yes"), ("updated", "x"),
    ])
    @LoopActor func `takes no field that none of our commands writes`(field: String, value: String) async throws {
        try await withRecords { records, redis in
            try await records.apply(UserRecordChange(), to: user)
            _ = await redis.outcome("HSET", "c:user:{u_1}", field, value)
            let expected = UserRecordError.malformed(UserRecord.Field(rawValue: field))
            await #expect(throws: expected) { try await records.record(of: user) }
        }
    }

    @Test @LoopActor func `takes no key of another kind for a record`() async throws {
        try await withRecords { records, redis in
            _ = await redis.outcome("SET", "c:user:{u_1}", "x")
            await #expect(throws: UserRecordError.malformed(nil)) { try await records.record(of: user) }
        }
    }

    @Test @LoopActor func `writes everybody's usage beside a key that holds no record`() async throws {
        try await withRecords { records, redis in
            _ = await redis.outcome("SET", "c:user:{u_1}", "x")
            try await records.recordUsage(12, of: UserID("u_2")!)
            let location = BucketLocation(bucket: "b", endpoint: "http://127.0.0.1:8333", region: "us-east-1")
            let totals = UsageTotals(UsageTotals.Subject(location: location, prefixes: [], user: nil))
            let (written, unreadable) = try await records.record(totals)
            #expect(written == 1 && unreadable == [user])
            #expect(await redis.outcome("HGET", "c:user:{u_2}", "storageUsed") == .success(.text(Array("0".utf8))))
        }
    }

    @Test @LoopActor func `asks two things in one write, and keeps their answers apart`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            _ = await redis.outcome("SET", "text", "x")
            let script = RedisScript(source: "return redis.call('INCR', KEYS[1])", digest: "none of this script's")
            let call = script.call(keys: ["n"], arguments: [])
            // The server does not know the script, and is asked both again.
            #expect(
                await redis.outcomes(RedisRequest(call, beside: RedisCommand(["GET", "text"])))
                    == [.success(.integer(1)), .success(.text([UInt8(ascii: "x")]))])
            let spoilt = script.call(keys: ["text"], arguments: [])
            #expect(
                await redis.outcomes(RedisRequest(spoilt, beside: RedisCommand(["LLEN", "text"])))
                    == [.failure(.refused(code: "ERR")), .failure(.refused(code: "WRONGTYPE"))])
            #expect(await redis.outcomes(RedisRequest(call)) == [.success(.integer(2))])
            redis.close()
            #expect(await redis.outcomes(RedisRequest(call)) == [.failure(.unavailable)])
        }
    }
}
