import Foundation
import CloakroomLoop
import CloakroomRedis
@testable import CloakroomOperations
@testable import CloakroomServer
import CloakroomTestSupport
import Testing

/// The rate limit and the user's record together, on a real Redis.
@Suite(.onLoop, .timeLimit(.minutes(1)))
struct AdmissionTests {
    private let user = UserID("u_1")!
    private let time = Date(timeIntervalSince1970: 1_800_000_000)

    private static let limits = Settings.Limits(
        renew: .init(quota: 2, window: .seconds(3600), whenRedisIsAway: .open),
        renewKeys: .init(quota: 150, window: .seconds(1800), whenRedisIsAway: .open),
        release: .init(quota: 4, window: .seconds(3600), whenRedisIsAway: .open),
        releaseKeys: .init(quota: 250, window: .seconds(1800), whenRedisIsAway: .open),
        vend: .init(quota: 2, window: .seconds(3600), whenRedisIsAway: .closed),
        upload: .init(quota: 2, window: .seconds(3600), whenRedisIsAway: .open),
        uploadBytes: .init(quota: 1000, window: .seconds(1800), whenRedisIsAway: .open),
        session: .init(quota: 1000, window: .seconds(3600), whenRedisIsAway: .closed),
        notification: .init(quota: 2, window: .seconds(3600), whenRedisIsAway: .closed))

    private var subject: Subject { Subject(userID: user, deviceID: "phone", tier: nil, issuer: "https://a.example") }

    @LoopActor private func withAdmissions(
        withoutRecord: Settings.Entitlements.WithoutRecord = .default,
        _ body: @LoopActor (Admissions, UserRecords, RedisConnection, RedisServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let server = try await onThread { try RedisServer(path: folder["r.sock"]) }
        let time = time
        let tiers = try Self.tiers()
        try await withRedis(server.path) { redis in
            let admissions = Admissions(
                limiter: RateLimiter(redis: redis, keyPrefix: "c:"), tiers: tiers,
                settings: .init(enabled: true, withoutRecord: withoutRecord), now: { time })
            try await body(
                admissions, UserRecords(redis: redis, keyPrefix: "c:", now: { time }), redis, server)
        }
    }

    static func tiers() throws -> Tiers {
        let scopes = try Scopes(PolicyTemplate(bucket: "photos", partition: "aws"), prefixes: ["photos"], templates: [])
        let scope = try #require(scopes["full"])
        return Tiers(
            byName: [
                "free": Tier(Settings.Tier(lifetime: .seconds(3600), scope: scope, storageLimit: 100), limits: limits),
                "pro": Tier(
                    Settings.Tier(lifetime: .seconds(3600), scope: scope, renewals: 4, vends: 5, renewedKeys: 300),
                    limits: limits),
            ], defaultName: "free")
    }

    private func refusal(_ admission: Admission) -> Entitlement.Refusal? {
        if case .failure(let refusal) = admission.entitlement { refusal } else { nil }
    }

    @Test @LoopActor func `counts by the limit of the tier that the record names`() async throws {
        try await withAdmissions { admissions, records, _, _ in
            var admission = await admissions.admit(.vend, subject)
            #expect(try admission.entitlement.get().tierName == "free")
            #expect(
                admission.decision.requests.remaining == 1 && policy(admission).hasPrefix("\"vend\";q=2;w=3600, "))
            var change = UserRecordChange()
            change.tier("pro")
            try await records.apply(change, to: user)
            for left in [3, 2, 1, 0] {
                admission = await admissions.admit(.vend, subject)
                #expect(try admission.entitlement.get().tierName == "pro")
                #expect(admission.decision.requests.remaining == left && admission.decision.verdict == .allowed)
            }
            #expect(policy(admission) == "\"vend\";q=5;w=3600, \"vendUser\";q=20;w=3600")
            admission = await admissions.admit(.vend, subject)
            #expect(admission.decision.verdict == .refused)
            change.tier(nil)
            try await records.apply(change, to: user)
            admission = await admissions.admit(.vend, subject)
            #expect(
                admission.decision.requests.remaining == 0 && policy(admission).hasPrefix("\"vend\";q=2;w=3600, "))
        }
    }

    /// Redis refuses by the limits that the worker knew last: who is given more must not notice.
    @Test @LoopActor func `lets in at once whose tier was raised, and counts it`() async throws {
        try await withAdmissions { admissions, records, redis, _ in
            for _ in 0..<2 { _ = await admissions.admit(.renewal(keys: 75), subject) }
            #expect(await admissions.admit(.renewal(keys: 1), subject).decision.verdict == .refused)
            var change = UserRecordChange()
            change.tier("pro")
            try await records.apply(change, to: user)
            let raised = await admissions.admit(.renewal(keys: 100), subject)
            #expect(raised.decision.verdict == .allowed)
            #expect(raised.decision.requests.remaining == 1 && raised.decision.quantity?.remaining == 50)
            change.tier(nil)
            try await records.apply(change, to: user)
            let lowered = await admissions.admit(.renewal(keys: 1), subject)
            #expect(lowered.decision.verdict == .refused && policy(lowered).contains("q=150"))
        }
    }

    /// Redis has counted by the limits that the worker knew last: who asks for too much must not lose what is left.
    @Test @LoopActor func `takes nothing for what a lowered tier refuses`() async throws {
        try await withAdmissions { admissions, records, redis, _ in
            var change = UserRecordChange()
            change.tier("pro")
            try await records.apply(change, to: user)
            for _ in 0..<2 {
                #expect(await admissions.admit(.renewal(keys: 0), subject).decision.verdict == .allowed)
            }
            _ = await redis.outcome("DEL", "c:limit:renew:{\(subject.owner)}:\(subject.device)")
            change.tier(nil)
            try await records.apply(change, to: user)
            let refused = await admissions.admit(.renewal(keys: 151), subject).decision
            #expect(refused.refusing == .renewKeys && refused.requests.remaining == 2)
            #expect(
                await redis.outcome("EXISTS", "c:limit:renew:{\(subject.owner)}:\(subject.device)")
                    == .success(.integer(0)))
            let last = await admissions.admit(.renewal(keys: 150), subject).decision
            #expect(last.verdict == .allowed && last.requests.remaining == 1 && last.quantity?.remaining == 0)
        }
    }

    /// Such a device is counted by a call of its own, which may let in what the user's refuses.
    @Test @LoopActor func `a refusal charges neither the user nor a device that its issuer proves`() async throws {
        try await withAdmissions { admissions, records, redis, _ in
            func admit(_ user: String, _ device: String) async throws -> RateLimitDecision {
                let subject = Subject(
                    userID: try #require(UserID(user)), deviceID: device, tier: nil, issuer: "https://a.example",
                    isDeviceVouchedFor: true)
                return await admissions.admit(.vend, subject).decision
            }
            for _ in 0..<2 { #expect(try await admit("u_1", "shared").verdict == .allowed) }
            for _ in 0..<3 {
                let refused = try await admit("u_2", "shared")
                #expect(refused.verdict == .refused && !refused.refusesUser && refused.userRequests.remaining == 8)
            }
            #expect(try await admit("u_2", "own").userRequests.remaining == 7)
            for number in 0..<7 { #expect(try await admit("u_2", "own \(number)").verdict == .allowed) }
            for _ in 0..<3 {
                let refused = try await admit("u_2", "new")
                #expect(refused.verdict == .refused && refused.refusesUser && refused.requests.remaining == 2)
            }
            #expect(try await admit("u_3", "new").requests.remaining == 1)
            // Counted for the user by the former terms and refused for the device, then both by those of the new tier.
            var change = UserRecordChange()
            change.tier("pro")
            try await records.apply(change, to: user)
            let raised = try await admit("u_1", "shared")
            #expect(raised.verdict == .allowed && raised.requests.remaining == 2 && raised.userRequests.remaining == 17)
        }
    }

    @Test @LoopActor func `sees a change of the record with the very next request`() async throws {
        try await withAdmissions { admissions, records, _, _ in
            #expect(refusal(await admissions.admit(.renewal(keys: 1), subject)) == nil)
            try await records.disable(user, reason: "test")
            #expect(refusal(await admissions.admit(.renewal(keys: 1), subject)) == .userDisabled)
            #expect(try await records.enable(user))
            #expect(refusal(await admissions.admit(.renewal(keys: 1), subject)) == nil)
            var change = UserRecordChange()
            change.revokedBefore(time.addingTimeInterval(-0.5))
            try await records.apply(change, to: user)
            #expect(refusal(await admissions.admit(.renewal(keys: 1), subject)) == .sessionRevoked)
            let later = self.subject(signedIn: 1)
            #expect(try await admissions.admit(.renewal(keys: 1), later).entitlement.get().revokedBefore == time)
        }
    }

    private func subject(signedIn seconds: Double?) -> Subject {
        Subject(
            userID: user, deviceID: nil, tier: nil, issuer: "https://a.example",
            signIn: seconds.map { time.addingTimeInterval($0) })
    }

    /// FAULTS row 33.
    @Test @LoopActor func `refuses who signed in before a revocation, in its very second too`() async throws {
        try await withAdmissions { admissions, records, redis, _ in
            let old = subject(signedIn: -3600)
            #expect(refusal(await admissions.admit(.renewal(keys: 0), old)) == nil)
            let revocation = Revocation(records: records, now: { time.addingTimeInterval(10.2) })
            _ = try await revocation.stopVending(to: user, disables: false)
            for (seconds, expected) in [
                (-3600, .sessionRevoked), (10, .sessionRevoked), (11.9, .sessionRevoked), (12, nil),
                (nil, .sessionRevoked),
            ] as [(Double?, Entitlement.Refusal?)] {
                let admission = await admissions.admit(.session, subject(signedIn: seconds))
                #expect(refusal(admission) == expected, "\(String(describing: seconds))")
                // From 11 s on the revocation counts, and its second is part of it.
                #expect(admission.signInWait == (expected == .sessionRevoked ? 12 : nil))
            }
            try await records.disable(user, reason: "test")
            let disabled = await admissions.admit(.session, old)
            #expect(refusal(disabled) == .userDisabled && disabled.signInWait == nil)
            #expect(try await records.enable(user))
            #expect(refusal(await admissions.admit(.session, old)) == .sessionRevoked)
            // Redis reads, but does not write: the record is there all the same.
            _ = try await redis.send(RedisCommand(["CONFIG", "SET", "maxmemory", "1"]))
            #expect(refusal(await admissions.admit(.upload(bytes: 0), old)) == .sessionRevoked)
            #expect(refusal(await admissions.admit(.upload(bytes: 0), subject(signedIn: 12))) == nil)
        }
    }

    @Test @LoopActor func `accepts undated tokens again where the operator says so, until the next revocation`()
        async throws
    {
        try await withAdmissions { admissions, records, _, _ in
            let undated = subject(signedIn: nil)
            let revocation = Revocation(records: records, now: { time })
            for _ in 0..<2 {
                _ = try await revocation.stopVending(to: user, disables: false)
                #expect(refusal(await admissions.admit(.session, undated)) == .sessionRevoked)
                var change = UserRecordChange()
                change.acceptUndatedTokens()
                try await records.apply(change, to: user)
                #expect(refusal(await admissions.admit(.session, undated)) == nil)
                #expect(refusal(await admissions.admit(.session, subject(signedIn: 0))) == .sessionRevoked)
            }
        }
    }

    @Test(arguments: [
        ["HSET", "c:user:{u_1}", "storageUsed", "-1"], ["HSET", "c:user:{u_1}", "tier", "gold plated"],
        ["SET", "c:user:{u_1}", "x"], ["HSET", "c:user:{u_1}", "updated", ""],
    ])
    @LoopActor func `closes before a record it cannot read`(command: [String]) async throws {
        try await withAdmissions { admissions, records, redis, _ in
            if command[0] == "HSET" { try await records.apply(UserRecordChange(), to: user) }
            _ = try await redis.send(RedisCommand(command))
            let admission = await admissions.admit(.vend, subject)
            #expect(refusal(admission) == .malformedRecord && admission.decision.requests.remaining == 1)
        }
    }

    /// Objects that are not renewed expire, and a tier is renamed with one word of the settings.
    @Test @LoopActor func `renews by the default tier's limits where the record's tier is gone, and vends nothing`()
        async throws
    {
        try await withAdmissions { admissions, records, _, _ in
            var told: [String] = []
            admissions.onUnknownTier = { tier, user in told.append("\(tier) of \(user.text)") }
            var change = UserRecordChange()
            change.tier("gold")
            try await records.apply(change, to: user)
            for left in [1, 0] {
                let renewal = await admissions.admit(.renewal(keys: 1), subject)
                #expect(renewal.decision.verdict == .allowed && renewal.decision.requests.remaining == left)
                #expect(policy(renewal).hasPrefix("\"renew\";q=2;w=3600, \"renewKeys\";q=150;"))
                #expect(try renewal.entitlement.get().refusal(of: .renew) == nil)
            }
            #expect(await admissions.admit(.renewal(keys: 1), subject).decision.verdict == .refused)
            let vend = try await admissions.admit(.vend, subject).entitlement.get()
            #expect(vend.refusal(of: .vend(writes: false)) == .unknownTier)
            #expect(vend.refusal(of: .vend(writes: true)) == .unknownTier && vend.refusal(of: .upload) == .unknownTier)
            #expect(told == ["gold of u_1"])
            try await records.disable(user, reason: "test")
            #expect(refusal(await admissions.admit(.renewal(keys: 0), subject)) == .userDisabled)
        }
    }

    @Test @LoopActor func `holds the tier's storage limit against what a scan counted of users without a record`()
        async throws
    {
        try await withAdmissions { admissions, records, _, _ in
            for (bytes, expected) in [(99, nil), (100, .storageExceeded)] as [(Int, Entitlement.Refusal?)] {
                try await records.recordUsage(bytes, of: user)
                let entitlement = try await admissions.admit(.session, subject).entitlement.get()
                #expect(entitlement.tierName == "free" && entitlement.refusal(of: .upload) == expected)
                #expect(entitlement.refusal(of: .renew) == nil && entitlement.revokedBefore == nil)
            }
            var change = UserRecordChange()
            change.storageLimit(101)
            try await records.apply(change, to: user)
            let entitlement = try await admissions.admit(.session, subject).entitlement.get()
            #expect(entitlement.refusal(of: .upload) == nil)
        }
        try await withAdmissions(withoutRecord: .refuse) { admissions, records, _, _ in
            try await records.recordUsage(1, of: user)
            #expect(refusal(await admissions.admit(.vend, subject)) == .noRecord)
        }
    }

    @Test @LoopActor func `closes before a count that no scan writes`() async throws {
        try await withAdmissions { admissions, _, redis, _ in
            _ = try await redis.send(RedisCommand(["HSET", "c:user:{u_1}", "storageUsed", "much"]))
            #expect(refusal(await admissions.admit(.vend, subject)) == .malformedRecord)
        }
    }

    /// FAULTS row 3.
    @Test @LoopActor func `locks nobody out when Redis forgets, unless it is told to`() async throws {
        for (withoutRecord, expected) in [(.default, nil), (.refuse, .noRecord)]
            as [(Settings.Entitlements.WithoutRecord, Entitlement.Refusal?)]
        {
            try await withAdmissions(withoutRecord: withoutRecord) { admissions, records, redis, _ in
                var change = UserRecordChange()
                change.tier("pro")
                try await records.apply(change, to: user)
                #expect(refusal(await admissions.admit(.vend, subject)) == nil)
                _ = await redis.outcome("FLUSHALL")
                _ = await redis.outcome("SCRIPT", "FLUSH")
                let admission = await admissions.admit(.vend, subject)
                #expect(refusal(admission) == expected && admission.decision.requests.remaining == 1)
            }
        }
    }

    /// FAULTS row 1.
    @Test @LoopActor func `is as open or closed without Redis as each route is set, and trusts the token`() async throws
    {
        try await withAdmissions { admissions, records, redis, server in
            try await records.disable(user, reason: "test")
            try await onThread { server.kill() }
            while redis.isReady { await Task.yield() }
            #expect(await admissions.admit(.vend, subject).decision.verdict == .closed)
            let upload = await admissions.admit(.upload(bytes: 0), subject)
            #expect(upload.decision.verdict == .open && refusal(upload) == nil)
        }
    }

    /// FAULTS row 2: a server that cannot count is one that is away, whatever it says of the record.
    @Test(arguments: [
        ("READONLY You can't write", "*-1\r\n", "readonly"), ("LOADING x", "-LOADING x\r\n", "loading"),
        ("BUSY x", "-BUSY x\r\n", "busy"), ("OOM x", "*0\r\n", "oom"),
        ("MASTERDOWN x", "-MASTERDOWN x\r\n", "masterdown"),
        ("NOAUTH x", "-NOAUTH x\r\n", "noauth"),
    ])
    @LoopActor func `is open or closed when Redis refuses to count`(error: String, record: String, label: String)
        async throws
    {
        let (decisions, labels) = try await scripted { command in
            switch command.first {
            case "PING": "+PONG\r\n"
            case "HMGET": record
            default: "-\(error)\r\n"
            }
        }
        #expect(decisions.map(\.decision.verdict) == [.closed, .open])
        #expect(decisions.allSatisfy { refusal($0) == nil } && labels.first == label)
    }

    @Test @LoopActor func `serves no disabled user while Redis reads, but does not write`() async throws {
        try await withAdmissions { admissions, records, redis, _ in
            try await records.disable(user, reason: "test")
            _ = try await redis.send(RedisCommand(["CONFIG", "SET", "maxmemory", "1"]))
            let upload = await admissions.admit(.upload(bytes: 0), subject)
            #expect(upload.decision.verdict == .open && refusal(upload) == .userDisabled)
        }
    }

    @Test @LoopActor func `closes when Redis counts, but does not show the record`() async throws {
        let (decisions, _) = try await scripted { command in
            switch command.first {
            case "PING": "+PONG\r\n"
            case "HMGET": "-NOPERM this user has no permissions\r\n"
            default: Self.counted(command)
            }
        }
        #expect(decisions.allSatisfy { refusal($0) == .malformedRecord })
    }

    @Test @LoopActor func `is open or closed when the record does not come`() async throws {
        let (decisions, labels) = try await scripted { command in
            switch command.first {
            case "PING": "+PONG\r\n"
            case "HMGET": nil
            default: Self.counted(command)
            }
        }
        #expect(decisions.map(\.decision.verdict) == [.closed, .open])
        // On a busy machine the time to connect again may be over before the loss is noticed.
        #expect(["interrupted", "unavailable"].contains(labels.first))
    }

    /// FAULTS row 1: what Redis sends may be garbage, and numbers are.
    @Test(arguments: [Int.min, -1, 0, .max])
    @LoopActor func `stands any number that Redis sends`(number: Int) async throws {
        let (decisions, _) = try await scripted { command in
            switch command.first {
            case "PING": "+PONG\r\n"
            case "HMGET": "*8\r\n" + String(repeating: "$-1\r\n", count: 8)
            default:
                "*\(2 * (Int(command[2]) ?? 0))\r\n"
                    + String(repeating: ":\(number)\r\n", count: 2 * (Int(command[2]) ?? 0))
            }
        }
        #expect(decisions.map(\.decision.verdict) == (number < .max ? [.allowed, .allowed] : [.refused, .refused]))
        #expect(decisions.allSatisfy { $0.decision.requests.remaining == (number < .max ? 1 : 0) })
    }

    /// The script's answer: of each window what was used, and what is left of its time.
    private static func counted(_ command: [String]) -> String {
        let windows = Int(command[2]) ?? 0
        return "*\(2 * windows)\r\n" + String(repeating: ":1\r\n:1000\r\n", count: windows)
    }

    private func policy(_ admission: Admission) -> String { admission.terms.field["RateLimit-Policy"] ?? "" }

    /// A vend and an upload on a Redis that answers as the script says; `nil` ends the connection.
    @LoopActor private func scripted(
        _ script: @escaping @Sendable ([String]) -> String?
    ) async throws -> ([Admission], [String]) {
        let folder = try TemporaryFolder()
        let server = try ScriptedRedis(path: folder["r.sock"]) { command, _ in
            script(command).map { [.reply($0)] } ?? [.end]
        }
        return try await withRedis(folder["r.sock"]) { redis in
            #expect(await redis.becomesReady(within: .seconds(5)))
            let limiter = RateLimiter(redis: redis, keyPrefix: "c:")
            var labels: [String] = []
            limiter.onRedisFailure = { labels.append($0.label) }
            let admissions = Admissions(
                limiter: limiter, tiers: try Self.tiers(), settings: .init(enabled: true, withoutRecord: .default),
                now: { Date() })
            var decisions: [Admission] = []
            for cost in [RateLimitCost.vend, .upload(bytes: 0)] {
                #expect(await redis.becomesReady(within: .seconds(5)))
                decisions.append(await admissions.admit(cost, subject))
            }
            withExtendedLifetime(server) {}
            return (decisions, labels)
        }
    }

    /// What each request costs Redis, as Redis itself counts it.
    @Test @LoopActor func `asks Redis once for both`() async throws {
        try await withAdmissions { admissions, _, redis, _ in
            _ = await admissions.admit(.session, subject)
            let before = try await Self.reads(redis)
            for _ in 0..<50 { _ = await admissions.admit(.session, subject) }
            let after = try await Self.reads(redis)
            // EVALSHA with the script's INCRBY and PTTL of two windows, and HMGET; one more is the request for these numbers.
            #expect(after.commands - before.commands == 6 * 50 + 1)
            #expect(after.reads - before.reads == 50 + 1)
        }
    }

    /// Commands carried out, and reads from sockets: each is one packet of ours or more.
    @LoopActor private static func reads(_ redis: RedisConnection) async throws -> (commands: Int, reads: Int) {
        guard case .text(let bytes) = try await redis.send(RedisCommand(["INFO", "stats"])) else { return (0, 0) }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        func value(_ name: String) -> Int {
            lines.first { $0.hasPrefix("\(name):") }.flatMap { Int($0.dropFirst(name.count + 1)) } ?? 0
        }
        return (value("total_commands_processed"), value("total_reads_processed"))
    }
}

extension Admissions {
    func admit(_ cost: RateLimitCost, _ subject: Subject) async -> Admission {
        await withCheckedContinuation { waiter in admit(cost, subject) { waiter.resume(returning: $0) } }
    }
}
