import CloakroomKitTestSupport
import CloakroomLoop
import Foundation

@testable import CloakroomOperations
@testable import CloakroomRedis
@testable import CloakroomServer

/// Random operations on Redis and on its model: what the project's own code sends, and its commands by themselves with what
/// it would not send.
///
/// The keys are few and shared by all, so that each finds what another left: other types, locks, windows that have ended.
@LoopActor
struct RedisComparison {
    private let comparison: Comparison
    private let pair: RedisPair
    private let records: UserRecords
    private var random: SeededGenerator

    private static let prefix = "t:"
    private static let users = (1...3).compactMap { UserID("u_\($0)") }
    private static let keys =
        users.map { UserRecords.key(of: $0, prefix: prefix) }
        + ["{d}", "{d}:a", "{d}:b"].map { "\(prefix)limit:\($0)" }
        + ["cred:{u_1}:a", "cred:{u_1}:a:lock", "lock:revocations", "undated:https://a.example"].map { prefix + $0 }

    init(_ comparison: Comparison) {
        self.comparison = comparison
        pair = RedisPair(comparison)
        records = UserRecords(redis: pair, keyPrefix: Self.prefix)
        random = SeededGenerator(seed: comparison.options.seed)
    }

    mutating func run() async throws -> Int32 {
        for _ in 0..<comparison.options.operations {
            comparison.begin()
            await step()
        }
        pair.close()
        return try comparison.finish()
    }

    private mutating func step() async {
        switch Int.random(in: 0..<1000, using: &random) {
        case ..<2: pair.forgetAll()
        case ..<10: pair.forgetScripts()
        case ..<200: await count()
        case ..<350: await change()
        case ..<550: await share()
        case ..<650: await lookUp()
        case ..<680: await lock()
        case ..<700: await noteIssuer()
        case ..<740: await evaluate()
        default: await command()
        }
    }

    private mutating func pick<T>(_ all: [T]) -> T { all.randomElement(using: &random)! }

    private mutating func isDrawn(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }

    /// Of which some fit the command and some do not.
    private mutating func text() -> String {
        pick(["", "0", "1", "7", "-3", "12", "01", "+1", " 1", "1.5", "a", "b", "é", "9223372036854775807", "x y"])
    }

    /// Some end while the comparison runs.
    private mutating func milliseconds() -> String {
        pick(["20", "60", "200", "1000", "60000", "60000", "2592000000", "0", "-1", "x", "9223372036854775807"])
    }

    // MARK: What the project sends

    private mutating func count() async {
        pair.label = "limits"
        let keys = pick([
            [Self.keys[3]], [Self.keys[4], Self.keys[3]], [Self.keys[5], Self.keys[3]], [pick(Self.keys)],
        ])
        let sign = isDrawn(0.2) ? "-1" : "\(pick([1, 1, 1, 2, 5]))"
        let call = RateLimiter.script.call(
            keys: keys,
            arguments: keys.flatMap { _ in [sign, "\(pick([1, 3, 10]))", pick(["60", "200", "1000", "3600000"])] })
        let record = isDrawn(0.5) ? UserRecords.read(pick(Self.users), prefix: Self.prefix) : nil
        await send(RedisRequest(call, beside: record, mayRepeat: true))
    }

    private mutating func change() async {
        pair.label = "records"
        let user = pick(Self.users)
        var change = UserRecordChange()
        if isDrawn(0.5) { change.tier(pick(["plus", nil])) }
        if isDrawn(0.3) { change.storageUsed(pick([0, 5_000_000_000, nil])) }
        if isDrawn(0.3) { change.storageLimit(pick([.max, 7, nil])) }
        if isDrawn(0.2) { change.disabled(pick(["consent-revoked", nil])) }
        if isDrawn(0.2) { change.revokedBefore(Date(timeIntervalSince1970: 1_800_000_000)) }
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try? await records.apply(change, to: user)
        case 1: _ = try? await records.applyToExisting(change, of: user)
        case 2: _ = try? await records.holds(change, user)
        case 3: try? await records.write(change, user)
        default: _ = try? await records.record(of: user)
        }
    }

    private mutating func share() async {
        pair.label = "sharing"
        let (owner, recipient) = (pick(Self.users), pick(Self.users))
        switch Int.random(in: 0..<8, using: &random) {
        case 0: _ = try? await records.announceShare(of: owner, with: recipient)
        case 1: try? await records.beginShares(with: recipient)
        case 2, 3:
            guard let known = try? await records.shares(with: recipient) else { return }
            let folder = SharedFolder(
                owner: owner, prefix: "photos/\(owner.text)/\(pick(["a", "b"]))/",
                end: Date(timeIntervalSince1970: pick([1_700_000_000, 2_000_000_000])))
            let revision = known.revision.isEmpty || isDrawn(0.1) ? "none" : known.revision
            let shares = UserRecord.Shares(known.shares.folders + (folder.map { [$0] } ?? []))
            _ = try? await records.setShares(shares, with: recipient, revision: revision)
        case 4:
            let prefix = isDrawn(0.5) ? "photos/\(owner.text)/a/" : nil
            _ = try? await records.unshare(owner, with: recipient, prefix: prefix)
        case 5: _ = try? await records.endSharing(of: owner)
        case 6: _ = try? await records.forgetFormerRecipients(of: owner, at: Date())
        default: _ = try? await records.deleteUnshared(owner)
        }
    }

    private mutating func lookUp() async {
        pair.label = "shared credentials"
        let keys = [Self.keys[6], Self.keys[7]]
        let token = pick(["token-1", "token-2"])
        if isDrawn(0.6) {
            let mark = pick(["", RedisData.digest(of: Array("entry-1".utf8))])
            await run(SharedCredentialCache.lookScript.call(keys: keys, arguments: [mark, token, milliseconds()]))
        } else {
            let entry = isDrawn(0.7) ? [pick(["entry-1", "entry-2"]), milliseconds()] : []
            await run(SharedCredentialCache.finishScript.call(keys: keys, arguments: [token] + entry))
        }
    }

    private mutating func lock() async {
        pair.label = "revocations"
        let token = pick(["one", "two"])
        if isDrawn(0.5) {
            _ = try? await pair.send(RedisCommand(["SET", Self.keys[8], token, "NX", "PX", "60000"]))
        } else {
            await run(Revocation.unlock.call(keys: [Self.keys[8]], arguments: [token]))
        }
    }

    private mutating func noteIssuer() async {
        pair.label = "undated issuers"
        let issuers = UndatedIssuers(redis: pair, keyPrefix: Self.prefix)
        if isDrawn(0.5) { _ = issuers.note("https://a.example") }
        _ = try? await issuers.seen(among: ["https://a.example", "https://b.example"])
    }

    private func run(_ call: RedisScript.Call) async { _ = try? await pair.run(call) }

    private func send(_ request: RedisRequest) async {
        await withCheckedContinuation { continuation in pair.send(request) { _ in continuation.resume() } }
    }

    // MARK: Commands by themselves

    private mutating func command() async {
        pair.label = "command"
        var words = words()
        // Too many and too few.
        if isDrawn(0.04) { words.append(text()) }
        if isDrawn(0.04), words.count > 1 { words.removeLast() }
        await send(RedisRequest(RedisCommand(words)))
    }

    private mutating func words() -> [String] {
        let key = pick(Self.keys)
        switch Int.random(in: 0..<14, using: &random) {
        case 0: return ["GET", key]
        case 1:
            let expiry = pick([
                [], ["PX", milliseconds()], ["EX", pick(["1", "100", "0", "x", "9223372036854775807"])],
            ])
            return ["SET", key, text()] + (isDrawn(0.5) ? ["NX"] + expiry : expiry + (isDrawn(0.3) ? ["nx"] : []))
        case 2: return ["DEL"] + (0..<pick([1, 1, 2, 3])).map { _ in pick(Self.keys) }
        case 3: return ["EXISTS"] + (0..<pick([1, 1, 2, 3])).map { _ in pick(Self.keys) }
        case 4: return ["INCRBY", key, text()]
        case 5: return ["DECRBY", key, pick([text(), "-9223372036854775808"])]
        case 6: return ["PTTL", key]
        case 7: return ["PEXPIRE", key, milliseconds()]
        case 8: return ["HGET", key, field()]
        case 9: return ["HMGET", key] + (0..<pick([1, 2, 5])).map { _ in field() }
        case 10, 11: return ["HSET", key] + (0..<pick([1, 2])).flatMap { _ in [field(), text()] }
        case 12: return ["HDEL", key] + (0..<pick([1, 2, 5])).map { _ in field() }
        default: return ["PING"]
        }
    }

    private mutating func field() -> String { pick(["updated", "tier", "shares", "sharedWith", "disabled", ""]) }

    // MARK: Scripts by themselves

    /// What becomes of values and errors between Lua and Redis.
    private static let scripts = [
        "return {1, 'a', false, 3, {true, {}}}", "return {1, nil, 3}", "return 3.7", "return -3.7", "return 2^63",
        "return true", "return false", "return", "return {ok = 'FINE'}", "return {err = 'NOGOOD of it'}", "error('x')",
        "return nonsense(", "return redis.sha1hex('a')", "return redis.call('GET', KEYS[1])",
        "redis.call('SET', KEYS[1], 'a') return redis.call('HGET', KEYS[1], 'a')",
        "redis.call('HGET', KEYS[1], 'a') return redis.call('SET', KEYS[1], ARGV[1] or '')",
        "local reply = redis.pcall('INCRBY', KEYS[1], 1) return type(reply) == 'table' and reply.err and 'no' or reply",
        "return redis.pcall('HGET', KEYS[1], 'a')", "return redis.call('GET', {})", "return redis.call('GET')",
        "return {#KEYS, #ARGV, KEYS[1] or false, ARGV[1] or false}", "return redis.call('SET', KEYS[1], 7, 'PX', 100)",
    ]

    private mutating func evaluate() async {
        pair.label = "script"
        let script = pick(Self.scripts)
        let count = isDrawn(0.1) ? pick(["-1", "2", "3", "x", ""]) : "1"
        let digest =
            isDrawn(0.1)
            ? pick(["", "a", String(repeating: "a", count: 40)]) : RedisData.digest(of: Array(script.utf8))
        let rest = [count, pick(Self.keys)] + (isDrawn(0.5) ? [text()] : [])
        await send(RedisRequest(RedisCommand(isDrawn(0.6) ? ["EVAL", script] + rest : ["EVALSHA", digest] + rest)))
    }
}
