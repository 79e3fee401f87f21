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
        try await run(Self.existingScript, dated(change), user) == .integer(1)
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
        _ = try await run(Self.script, change, user)
    }

    /// What writes a change, for a request of more than that.
    package func call(writing change: UserRecordChange, _ user: UserID) -> RedisScript.Call {
        call(Self.script, change, user)
    }

    /// Whether all fields are as a change has them.
    package func holds(_ change: UserRecordChange, _ user: UserID) async throws(RedisError) -> Bool {
        let fields = change.values.sorted { $0.key.rawValue < $1.key.rawValue }
        let key = Self.key(of: user, prefix: keyPrefix)
        let reply = try await redis.read(RedisCommand(["HMGET", key] + fields.map(\.key.rawValue)))
        return reply == .array(fields.map { $0.value.map { .text(Array($0.utf8)) } ?? .null })
    }

    private func run(
        _ script: RedisScript, _ change: UserRecordChange, _ user: UserID
    ) async throws(UserRecordError) -> RedisReply {
        do throws(RedisError) { return try await redis.run(call(script, change, user)) } catch {
            throw UserRecordError(error)
        }
    }

    private func call(_ script: RedisScript, _ change: UserRecordChange, _ user: UserID) -> RedisScript.Call {
        var set: [String] = []
        var removed: [String] = []
        for (field, value) in change.values {
            if let value { set += [field.rawValue, value] } else { removed.append(field.rawValue) }
        }
        return script.call(
            keys: [Self.key(of: user, prefix: keyPrefix)], arguments: [String(set.count)] + set + removed)
    }

    /// The first argument tells how many of the others are names and values to set; the rest are names to remove.
    static let script = RedisScript(text: change)

    /// The same where there is a record; else 0.
    private static let existingScript = RedisScript(
        text: "if not redis.call('HMGET', KEYS[1], 'updated')[1] then return 0 end\n" + change)

    private nonisolated static let change = """
        local count = tonumber(ARGV[1])
        if count > 0 then redis.call('HSET', KEYS[1], unpack(ARGV, 2, 1 + count)) end
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
