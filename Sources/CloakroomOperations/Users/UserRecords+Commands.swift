import CloakroomRedis
package import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension UserRecords {
    /// - Returns: whether there is a record, readable or not; `nil` when Redis does not tell.
    package func hasRecord(of user: UserID) async -> Bool? {
        do throws(UserRecordError) { return try await record(of: user) != nil } catch {
            if case .malformed = error { return true }
            return nil
        }
    }

    /// Until when the record has to stay for the sake of a revocation: sessions and session tokens from before that are
    /// out end by then. Without the record workers would hand out the sessions again, although IAM may deny them, and
    /// accept the tokens.
    ///
    /// - Returns: `nil` where it need not stay at that time.
    package func revocationEnd(
        of user: UserID, at now: Date, by settings: Settings
    ) async throws(UserRecordError) -> Date? {
        guard let time = try await revocation(of: user) else { return nil }
        let end = max(
            Revocation.end(ofSessionsBefore: time),
            time.addingTimeInterval(settings.revokedTokenLifetime / .seconds(1)))
        return end > now ? end : nil
    }

    /// The time of the user's revocation; `nil` for none, or for one that cannot be read.
    package func revocation(of user: UserID) async throws(UserRecordError) -> Date? {
        let reply: RedisReply
        do throws(RedisError) {
            // The field alone: the others may be what no command writes.
            let field = UserRecord.Field.revokedBefore.rawValue
            reply = try await redis.read(RedisCommand(["HMGET", Self.key(of: user, prefix: keyPrefix), field]))
        } catch {
            let error = UserRecordError(error)
            if case .malformed = error { return nil }
            throw error
        }
        guard case .array(let values) = reply, case .text(let bytes)? = values.first,
            let seconds = Int(String(decoding: bytes, as: UTF8.self))
        else { return nil }
        return Date(timeIntervalSince1970: Double(seconds))
    }

    /// The record with what only people read.
    package func wholeRecord(of user: UserID) async throws(UserRecordError) -> UserRecord? {
        guard var record = try await record(of: user) else { return nil }
        do throws(RedisError) {
            let field = UserRecord.Field.disabledReason.rawValue
            let reply = try await redis.read(RedisCommand(["HGET", Self.key(of: user, prefix: keyPrefix), field]))
            if case .text(let bytes) = reply { record.disabledReason = String(decoding: bytes, as: UTF8.self) }
        } catch {
            throw UserRecordError(error)
        }
        return record
    }

    /// Takes a disabling back. Credentials that were revoked stay so.
    ///
    /// - Returns: whether there is a record; none is made, which alone would make the user known.
    package func enable(_ user: UserID) async throws(UserRecordError) -> Bool {
        var change = UserRecordChange()
        change.disabled(nil)
        return try await applyToExisting(change, of: user)
    }

    /// What a scan counted. This makes no user known: see ``UserRecord/Field/updated``.
    package func recordUsage(_ bytes: Int, of user: UserID) async throws(UserRecordError) {
        var change = UserRecordChange()
        change.storageUsed(bytes)
        try await write(change, user)
    }

    /// Whether the user's key can hold a record: then it may lead to others.
    package func isHash(_ user: UserID) async -> Bool {
        do throws(UserRecordError) {
            _ = try await record(of: user)
            return true
        } catch {
            return error != .malformed(nil)
        }
    }

    /// Deletes a record, and ends all that the user shares and all that is shared with them.
    ///
    /// - Returns: whether there was anything to delete, and what is no longer shared.
    package func delete(_ user: UserID) async throws -> (isDeleted: Bool, ended: [Share]) {
        var ended: [Share] = []
        if await isHash(user) {
            for _ in 0..<5 {
                // With the last of what was shared the record itself may go.
                ended += try await endSharing(of: user)
                if let deleted = try await deleteUnshared(user) { return (deleted || !ended.isEmpty, ended) }
            }
            throw UnendedSharing(users: [user], error: .redis(.interrupted))
        }
        do throws(RedisError) {
            let reply = try await redis.send(RedisCommand(["DEL", Self.key(of: user, prefix: keyPrefix)]))
            return (reply == .integer(1), [])
        } catch {
            throw UserRecordError(error)
        }
    }
}

extension Settings {
    /// For how long after a revocation a session token from before would be accepted if it was not for the record.
    ///
    /// The record lets none be continued; only a worker that goes on without Redis may have done so.
    fileprivate var revokedTokenLifetime: Duration {
        guard let session else { return .zero }
        let isContinued = limits.session.whenRedisIsAway == .open
        return (isContinued ? session.maximumAge : session.lifetime) + tokens.leeway
    }
}
