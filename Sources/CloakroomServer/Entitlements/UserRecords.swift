package import CloakroomLoop
package import CloakroomRedis

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The records of all users, in Redis: read for requests, changed by commands and by an issuer's notifications.
@LoopActor
package final class UserRecords {
    package let redis: any RedisClient
    package let keyPrefix: String
    private let now: @Sendable () -> Date
    let sender: Sender?

    /// Sends a call that changes a record of this key, such as with a `WAIT` behind it.
    package typealias Sender = @LoopActor (RedisScript.Call, _ key: String) async throws(RedisError) -> RedisReply

    /// - Parameters:
    ///   - keyPrefix: of all our keys.
    ///   - sender: what changes of shares are sent by; the client itself without one.
    package init(
        redis: any RedisClient, keyPrefix: String, sender: Sender? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.redis = redis
        self.keyPrefix = keyPrefix
        self.sender = sender
        self.now = now
    }

    /// The same records, whose changes of shares are sent by another sender.
    package func sending(by sender: @escaping Sender) -> UserRecords {
        UserRecords(redis: redis, keyPrefix: keyPrefix, sender: sender, now: now)
    }

    /// The same records, by another way to the same Redis.
    package func over(_ redis: any RedisClient) -> UserRecords {
        UserRecords(redis: redis, keyPrefix: keyPrefix, sender: sender, now: now)
    }

    /// The braces keep all keys of a user in one slot of a cluster.
    package nonisolated static func key(of user: UserID, prefix: String) -> String { "\(prefix)user:{\(user.text)}" }

    /// What reads all that a request has to know.
    nonisolated static func read(_ user: UserID, prefix: String) -> RedisCommand {
        read(key: key(of: user, prefix: prefix))
    }

    nonisolated static func read(key: String) -> RedisCommand {
        RedisCommand(["HMGET", key] + UserRecord.requestFields.map(\.rawValue))
    }

    /// - Returns: `nil` when there is no record.
    package func record(of user: UserID) async throws(UserRecordError) -> UserRecord? {
        try await withCheckedContinuation { continuation in
            redis.send(RedisRequest(Self.read(user, prefix: keyPrefix), mayRepeat: true)) { answer in
                continuation.resume(returning: Self.record(answer))
            }
        }.get()
    }

    private static func record(_ answer: RedisResponse) -> Result<UserRecord?, UserRecordError> {
        switch answer {
        case .failure(let error): return .failure(UserRecordError(error))
        case .reply(var cursor):
            if let refusal = cursor.refusal { return .failure(UserRecordError(refusal)) }
            do throws(UserRecordError) { return .success(try UserRecord.parse(&cursor).record) } catch {
                return .failure(error)
            }
        }
    }

    /// Makes the record where there is none.
    package func apply(_ change: UserRecordChange, to user: UserID) async throws(UserRecordError) {
        try await write(dated(change), user)
    }

    /// Changes a record, but makes none.
    ///
    /// - Returns: whether there is one.
    package func applyToExisting(_ change: UserRecordChange, of user: UserID) async throws(UserRecordError) -> Bool {
        let key = Self.key(of: user, prefix: keyPrefix)
        let call = Self.existingScript.call(keys: [key], arguments: dated(change).arguments)
        do throws(RedisError) { return try await redis.run(call) == .integer(1) } catch { throw UserRecordError(error) }
    }

    /// The change with the time of now, as an operator's.
    package func dated(_ change: UserRecordChange) -> UserRecordChange {
        var change = change
        change.updated(now())
        return change
    }

    /// Nothing is vended, uploaded or renewed for the user from now on.
    ///
    /// - Parameter reason: for people, such as `consent-revoked`.
    package func disable(_ user: UserID, reason: String) async throws(UserRecordError) {
        var change = UserRecordChange()
        change.disabled(reason)
        try await apply(change, to: user)
    }

    /// Leaves ``UserRecord/Field/updated`` to the change.
    package func write(_ change: UserRecordChange, _ user: UserID) async throws(UserRecordError) {
        do throws(RedisError) {
            try await send(change, user) { call throws(RedisError) in try await redis.run(call) }
        } catch {
            throw UserRecordError(error)
        }
    }

    /// Sends the call that writes a change, such as with a `WAIT` behind it; once more for a change that takes access away
    /// where Redis has no memory for it.
    package func send(
        _ change: UserRecordChange, _ user: UserID, by send: WithdrawalScript.Sender
    ) async throws(RedisError) {
        let keys = [Self.key(of: user, prefix: keyPrefix)]
        guard change.takesAccess else {
            _ = try await send(Self.script.call(keys: keys, arguments: change.arguments))
            return
        }
        _ = try await Self.withdrawalScript.run(keys: keys, arguments: change.arguments, by: send)
    }

    /// Whether all fields are as a change has them; of a revocation, whether it is not earlier.
    package func holds(_ change: UserRecordChange, _ user: UserID) async throws(RedisError) -> Bool {
        let fields = change.values.sorted { $0.key.rawValue < $1.key.rawValue }
        let key = Self.key(of: user, prefix: keyPrefix)
        let reply = try await redis.read(RedisCommand(["HMGET", key] + fields.map(\.key.rawValue)))
        guard case .array(let values) = reply, values.count == fields.count else { return false }
        return zip(fields, values).allSatisfy { field, value in
            guard let wanted = field.value else { return value == .null }
            guard case .text(let bytes) = value else { return false }
            let text = String(decoding: bytes, as: UTF8.self)
            guard field.key == .revokedBefore, let least = Int(wanted), let time = Int(text) else {
                return text == wanted
            }
            return time >= least
        }
    }

    private static let withdrawalScript = WithdrawalScript(text: change)

    /// The first argument tells how many of the others are names and values to set; the rest are names to remove.
    static var script: RedisScript { withdrawalScript.usual }

    /// The same where there is a record; else 0.
    private static let existingScript = RedisScript(
        text: "if not redis.call('HMGET', KEYS[1], 'updated')[1] then return 0 end\n" + change)

    /// The later of two revocations counts, whatever the clocks of those who revoked. What no command writes is replaced.
    private nonisolated static let change = """
        local count = tonumber(ARGV[1])
        local fields = {unpack(ARGV, 2, 1 + count)}
        for i = 1, count, 2 do
            if fields[i] == 'revokedBefore' then
                local former = redis.call('HMGET', KEYS[1], 'revokedBefore')[1]
                local time = tonumber(string.match(former or '', '^%d+$') or '0')
                if time > tonumber(fields[i + 1]) and time <= 253402300799 then fields[i + 1] = former end
            end
        end
        if count > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
        if #ARGV > 1 + count then redis.call('HDEL', KEYS[1], unpack(ARGV, 2 + count)) end
        return 1
        """
}

extension UserRecordError {
    /// A key that holds no hash is a record we cannot read, not a Redis that is unreachable.
    package init(_ error: RedisError) { self = error == .refused(code: "WRONGTYPE") ? .malformed(nil) : .redis(error) }
}

/// Fields of a user's record to be set or removed, all at once or not at all.
package struct UserRecordChange: Sendable, Equatable {
    /// `nil` removes the field.
    private(set) var values: [UserRecord.Field: String?] = [:]

    package init() {}

    package var isEmpty: Bool { values.isEmpty }

    /// Whether the user gets less by it: it disables, or revokes.
    var takesAccess: Bool {
        [UserRecord.Field.disabled, .revokedBefore].contains { field in
            if case .some(.some) = values[field] { true } else { false }
        }
    }

    /// As ``UserRecords/script`` takes them.
    fileprivate var arguments: [String] {
        var set: [String] = []
        var removed: [String] = []
        for (field, value) in values {
            if let value { set += [field.rawValue, value] } else { removed.append(field.rawValue) }
        }
        return [String(set.count)] + set + removed
    }

    package mutating func tier(_ tier: String?) { values.updateValue(tier, forKey: .tier) }

    package mutating func subscriptionEnd(_ end: Date?) {
        values.updateValue(end.map(Self.seconds), forKey: .subscriptionEnd)
    }

    /// - Parameter bytes: at least 0.
    package mutating func storageUsed(_ bytes: Int?) {
        values.updateValue(bytes.map(String.init), forKey: .storageUsed)
    }

    /// - Parameter bytes: at least 0; `Int.max` for no limit, `nil` for the tier's.
    package mutating func storageLimit(_ bytes: Int?) {
        values.updateValue(bytes.map { $0 == .max ? UserRecord.unlimited : String($0) }, forKey: .storageLimit)
    }

    /// - Parameter reason: for people; `nil` enables.
    package mutating func disabled(_ reason: String?) {
        values.updateValue(reason == nil ? nil : "1", forKey: .disabled)
        values.updateValue(reason, forKey: .disabledReason)
    }

    /// Undated tokens may be from before it: they are no longer accepted.
    package mutating func revokedBefore(_ time: Date) {
        values.updateValue(Self.seconds(time), forKey: .revokedBefore)
        values.updateValue(nil, forKey: .acceptUndatedTokens)
    }

    package mutating func acceptUndatedTokens() { values.updateValue("1", forKey: .acceptUndatedTokens) }

    mutating func updated(_ time: Date) { values.updateValue(Self.seconds(time), forKey: .updated) }

    /// Rounded up: what was issued within the second counts as before.
    private static func seconds(_ time: Date) -> String {
        String(Int(max(0, time.timeIntervalSince1970.rounded(.up))))
    }
}
