import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import CloakroomLoop
import CloakroomRedis
@testable import CloakroomOperations
@testable import CloakroomServer
import CloakroomTestSupport
import Synchronization
import Testing

/// Revocations on a real Redis, and an IAM that keeps one policy.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct RevocationTests {
    private let time = Date(timeIntervalSince1970: 1_800_000_000)

    private final class PolicyKeeper: Transport {
        private let policy = Mutex<String?>(nil)
        var text: String? { policy.withLock { $0 } }
        /// Runs between the reading of the policy and the answer.
        let whileReading = Mutex<(@Sendable () async -> Void)?>(nil)

        func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
            let form = String(decoding: request.body, as: UTF8.self)
            if let encoded = form.split(separator: "&PolicyDocument=").dropFirst().first {
                policy.withLock { $0 = String(encoded) }
                return UpstreamResponse(status: 200, body: Array("<PutRolePolicyResponse/>".utf8))
            }
            // Whoever does not wait for the other reads what is about to be replaced.
            let text = text
            await whileReading.withLock { $0 }?()
            guard let text else {
                let error = "<ErrorResponse><Error><Code>NoSuchEntity</Code></Error></ErrorResponse>"
                return UpstreamResponse(status: 404, body: Array(error.utf8))
            }
            let answer =
                "<GetRolePolicyResponse><GetRolePolicyResult><PolicyDocument>\(text)</PolicyDocument>"
                + "</GetRolePolicyResult></GetRolePolicyResponse>"
            return UpstreamResponse(status: 200, body: Array(answer.utf8))
        }
    }

    @Test @LoopActor func `stops vending, drops what is kept, and writes one policy for all`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let time = time
        let keeper = PolicyKeeper()
        let iam = try Self.iam(keeper)
        try await withRedis(server.path) { redis in
            let records = UserRecords(redis: redis, keyPrefix: "c[1]:", now: { time })
            let revocation = Revocation(records: records, now: { time })
            for key in ["c[1]:cred:{u_1}:full", "c[1]:cred:{u_1}:read", "c[1]:cred:{u_10}:full", "c1:cred:{u_1}:full"] {
                _ = await redis.outcome("SET", key, "x")
            }
            let users = try ["u_1", "u_2", "u_3"].map { try #require(UserID($0)) }
            let before = try await revocation.stopVending(to: users[0], disables: true).time
            #expect(before == time)
            let record = try #require(try await records.wholeRecord(of: users[0]))
            #expect(record.isDisabled && record.disabledReason == "revoked" && record.revokedBefore == time)
            #expect(await redis.outcome("EXISTS", "c[1]:cred:{u_1}:full") == .success(.integer(0)))
            #expect(await redis.outcome("EXISTS", "c[1]:cred:{u_1}:read") == .success(.integer(0)))
            #expect(await redis.outcome("EXISTS", "c[1]:cred:{u_10}:full") == .success(.integer(1)))
            #expect(await redis.outcome("EXISTS", "c1:cred:{u_1}:full") == .success(.integer(1)))
            _ = try await revocation.stopVending(to: users[1], disables: false)
            #expect(try await records.record(of: users[1])?.isDisabled == false)

            let tasks = users.map { user in
                LoopActor.spawn {
                    try? await revocation.deny(
                        user, before: time, role: "vending", iam: iam, deadline: .now + .seconds(15)
                    ).policy.count
                }
            }
            var counts: Set<Int?> = []
            for task in tasks { counts.insert(await task.value) }
            #expect(counts == [1, 2, 3])
            let text = try #require(keeper.text?.removingPercentEncoding)
            #expect(text.contains(#""aws:PrincipalTag/UserId":["u_1","u_2","u_3"]"#))
            #expect(await redis.outcome("EXISTS", "c[1]:lock:revocations") == .success(.integer(0)))
            // Enabling lets the user vend again; what was revoked stays so.
            #expect(try await records.enable(users[0]))
            let enabled = try await records.record(of: users[0])
            #expect(enabled?.isDisabled == false && enabled?.revokedBefore == time)
        }
    }

    /// A request that was let in before may still be waiting for STS; IAM goes by the time at which STS answers.
    @Test(arguments: [true, false])
    @LoopActor func `reaches as far as requests that are under way, the user disabled or not`(disables: Bool)
        async throws
    {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let time = time
        try await withRedis(server.path) { redis in
            let records = UserRecords(redis: redis, keyPrefix: "c:", now: { time })
            let revocation = Revocation(records: records, requestDeadline: .seconds(15), now: { time })
            let user = try #require(UserID("u_1"))
            let before = try await revocation.stopVending(to: user, disables: disables).time
            #expect(before == time.addingTimeInterval(15))
            let record = try await records.record(of: user)
            #expect(record?.revokedBefore == before && record?.isDisabled == disables)
        }
    }

    /// Another operator's clock was two hours ahead: what it wrote is not taken back by this one.
    @Test @LoopActor func `tells the time that the record has where that is later`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let time = time
        try await withRedis(server.path) { redis in
            let records = UserRecords(redis: redis, keyPrefix: "c:", now: { time })
            let user = try #require(UserID("u_1"))
            let ahead = Revocation(records: records, now: { time.addingTimeInterval(7200) })
            _ = try await ahead.stopVending(to: user, disables: false)
            let stop = try await Revocation(records: records, now: { time }).stopVending(to: user, disables: true)
            #expect(stop.time == time.addingTimeInterval(7200))
            let record = try await records.record(of: user)
            #expect(record?.revokedBefore == stop.time && record?.isDisabled == true)
        }
    }

    @Test @LoopActor func `has the time of the server itself, unless the user may not send INFO`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        try await withRedis(server.path) { redis in
            let records = UserRecords(redis: redis, keyPrefix: "c:")
            let user = try #require(UserID("u_1"))
            let found = try await Revocation(records: records).currentTime(for: user)
            #expect(found.isCompared && abs(found.time.timeIntervalSinceNow) < 5)
            for seconds in [-600.0, 600] {
                let slow = Revocation(records: records, now: { Date().addingTimeInterval(seconds) })
                await #expect(throws: Revocation.RevocationError.self) { _ = try await slow.currentTime(for: user) }
            }
            #expect(await redis.outcome("ACL", "SETUSER", "default", "-info") == .success(.status("OK")))
            #expect(try await !Revocation(records: records).currentTime(for: user).isCompared)
        }
    }

    @Test @LoopActor func `stops vending and denies where Redis has used up its memory, or permits no SCAN`()
        async throws
    {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let keeper = PolicyKeeper()
        let iam = try Self.iam(keeper)
        let time = time
        try await withRedis(server.path) { redis in
            let records = UserRecords(redis: redis, keyPrefix: "c:", now: { time })
            let revocation = Revocation(records: records, now: { time })
            let user = try #require(UserID("u_1"))
            for command in [["CONFIG", "SET", "maxmemory", "1"], ["ACL", "SETUSER", "default", "-scan"]] {
                #expect(try await redis.send(RedisCommand(command)) == .status("OK"))
            }
            let stop = try await revocation.stopVending(to: user, disables: true)
            #expect(stop.time == time && stop.undropped == .redis(.refused(code: "NOPERM")))
            #expect(try await records.record(of: user)?.isDisabled == true)
            let policy = try await revocation.deny(
                user, before: time, role: "vending", iam: iam, deadline: .now + .seconds(5)
            ).policy
            #expect(policy.count == 1)
            // Others are refused writes all the same.
            await #expect(throws: UserRecordError.redis(.refused(code: "OOM"))) {
                try await records.recordUsage(1, of: user)
            }
        }
    }

    /// Each replaces the whole policy: without the lock the later one forgets the other's user.
    @Test @LoopActor func `keeps both of two denials that come together`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let keeper = PolicyKeeper()
        let iam = try Self.iam(keeper)
        let time = time
        try await withRedis(server.path) { redis in
            try await withRedis(server.path) { other in
                #expect(await redis.becomesReady(within: .seconds(5)))
                #expect(await other.becomesReady(within: .seconds(5)))
                let before = try await Self.locks(redis)
                // The first to read answers when both have asked for the lock, and the other had time to read as well.
                keeper.whileReading.withLock {
                    $0 = { @LoopActor in
                        while let locks = try? await Self.locks(redis), locks < before + 2 {
                            try? await LoopActor.sleep(for: .milliseconds(1))
                        }
                        for _ in 0..<100 { await Task.yield() }
                    }
                }
                let tasks = try [(redis, "u_1"), (other, "u_2")].map { redis, user in
                    let revocation = Revocation(records: UserRecords(redis: redis, keyPrefix: "c:"), now: { time })
                    let user = try #require(UserID(user))
                    return LoopActor.spawn {
                        try? await revocation.deny(
                            user, before: time, role: "vending", iam: iam, deadline: .now + .seconds(15)
                        ).policy.count
                    }
                }
                var counts: [Int?] = []
                for task in tasks { counts.append(await task.value) }
                #expect(Set(counts) == [1, 2])
            }
        }
        let text = try #require(keeper.text?.removingPercentEncoding)
        #expect(text.contains(#""aws:PrincipalTag/UserId":["u_1","u_2"]"#))
    }

    /// Some thirty users have a time of their own before the policy is too long.
    @Test @LoopActor func `tells of whom later sessions are denied once all share a time, and drops theirs`()
        async throws
    {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let keeper = PolicyKeeper()
        let iam = try Self.iam(keeper)
        let time = time
        try await withRedis(server.path) { redis in
            let records = UserRecords(redis: redis, keyPrefix: "c:", now: { time })
            let revocation = Revocation(records: records, now: { time })
            for key in ["c:cred:{u_0}:full", "c:cred:{u_0}:read", "c:cred:{u_00}:full", "c:user:{u_0}"] {
                _ = await redis.outcome("SET", key, "x")
            }
            var revoked: [UserID] = []
            var moved: Set<UserID> = []
            while moved.isEmpty, revoked.count < 40 {
                let user = try #require(UserID("u_\(revoked.count)"))
                moved = try await revocation.deny(
                    user, before: time.addingTimeInterval(Double(revoked.count)), role: "vending", iam: iam,
                    deadline: .now + .seconds(5)
                ).moved
                revoked.append(user)
            }
            #expect(revoked.count > 30)
            #expect(moved == Set(revoked.dropLast()))
            #expect(try await records.dropCredentials(of: moved) == 2)
            #expect(await redis.outcome("EXISTS", "c:cred:{u_0}:full", "c:cred:{u_0}:read") == .success(.integer(0)))
            #expect(await redis.outcome("EXISTS", "c:cred:{u_00}:full", "c:user:{u_0}") == .success(.integer(2)))
        }
    }

    private static func iam(_ keeper: PolicyKeeper) throws -> IAMClient {
        IAMClient(
            endpoint: try .iam(region: "eu-west-1"), transport: keeper,
            credentials: CredentialSource(Credentials(accessKeyID: "AKID", secretAccessKey: Secret("secret"))),
            isolation: LoopActor.shared)
    }

    /// How often `SET` was called, as Redis itself counts it.
    @LoopActor private static func locks(_ redis: RedisConnection) async throws -> Int {
        guard case .text(let bytes) = try await redis.send(RedisCommand(["INFO", "commandstats"])) else { return 0 }
        let line = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            .first { $0.hasPrefix("cmdstat_set:calls=") }
        return line.flatMap { Int($0.dropFirst("cmdstat_set:calls=".count).prefix { $0 != "," }) } ?? 0
    }

    @Test @LoopActor func `does not write over a policy of somebody else`() async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let keeper = PolicyKeeper()
        let iam = try Self.iam(keeper)
        let unknown = #"{"Version":"2012-10-17","Statement":[]}"#.replacing("[]", with: "[{}]")
        try await iam.put(unknown, as: RevocationPolicy.name, ofRole: "vending", deadline: .now + .seconds(5))
        let kept = keeper.text
        try await withRedis(server.path) { redis in
            let revocation = Revocation(records: UserRecords(redis: redis, keyPrefix: "c:"))
            let user = try #require(UserID("u_1"))
            let time = time
            await #expect(throws: Revocation.RevocationError.policy(.otherStatements)) {
                _ = try await revocation.deny(
                    user, before: time, role: "vending", iam: iam, deadline: .now + .seconds(5))
            }
            #expect(keeper.text == kept)
        }
    }
}
