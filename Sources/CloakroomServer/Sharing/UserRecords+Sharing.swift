import CloakroomCrypto
import CloakroomLoop
import CloakroomRedis

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What is shared stands in two records: the recipient's, the only one that a request reads, says what is shared with
/// them; the owner's says with whom, so that all of it can be ended from there.
///
/// The two may lie on two servers. So the owner's is written first and cleared last: whatever is interrupted, no folder is
/// shared that its owner's record does not lead to. Doing the same again completes what was interrupted.
extension UserRecords {
    /// One with whom a user shares.
    package struct Recipient: Sendable, Equatable {
        package let user: UserID
        /// Another one each time that something is shared.
        let mark: String

        /// - Parameter word: of the record's field.
        init?(_ word: Substring) {
            let parts = word.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let user = UserID(String(parts[0])) else { return nil }
            self.user = user
            mark = String(parts[1])
        }

        var word: String { "\(user.text)/\(mark)" }
    }

    /// What is shared with a user, and what tells whether that has changed since.
    package typealias SharedWithUser = (shares: UserRecord.Shares, revision: String)

    /// What one user shares with another.
    package struct Share: Sendable, Equatable {
        package let folder: SharedFolder
        package let recipient: UserID
    }

    /// With these users something could not be ended; all else was.
    package struct UnendedSharing: Error, Sendable, Equatable {
        package let users: [UserID]
        /// Of one of them: of Redis, which may run it the next time, if there is such.
        package let error: UserRecordError
        /// What was ended all the same.
        package var ended: [Share] = []
        /// What was shared with them before: where a response was lost, that may have ended as well.
        var found: [Share] = []

        package init(users: [UserID], error: UserRecordError) {
            self.users = users
            self.error = error
        }

        /// - Parameter failures: at least one.
        fileprivate init(
            _ failures: [(user: UserID, error: UserRecordError)], ended: [Share], found: [Share]
        ) {
            users = failures.map(\.user)
            error = (failures.first { if case .redis = $0.error { true } else { false } } ?? failures[0]).error
            self.ended = ended
            self.found = found
        }
    }

    package func shares(with user: UserID) async throws(UserRecordError) -> SharedWithUser {
        let texts = try await texts(of: [.shares, .sharesRevision], user)
        return (UserRecord.Shares(texts[0]), texts[1])
    }

    /// What an owner shares with a user.
    ///
    /// - Parameter prefix: of one folder; `nil` for all.
    func folders(
        of owner: UserID, with recipient: UserID, prefix: String? = nil
    ) async throws(UserRecordError) -> [SharedFolder] {
        try await shares(with: recipient).shares.folders
            .filter { $0.owner == owner && (prefix == nil || $0.prefix == prefix) }
    }

    /// With whom a user shares; with some of them perhaps nothing any more.
    package func recipients(of user: UserID) async throws(UserRecordError) -> [Recipient] {
        try await texts(of: [.sharedWith], user)[0].split(separator: " ").compactMap { Recipient($0) }
    }

    /// Empty texts for fields that are not there.
    private func texts(of fields: [UserRecord.Field], _ user: UserID) async throws(UserRecordError) -> [String] {
        let reply: RedisReply
        do throws(RedisError) {
            reply = try await redis.read(
                RedisCommand(["HMGET", Self.key(of: user, prefix: keyPrefix)] + fields.map(\.rawValue)))
        } catch {
            throw UserRecordError(error)
        }
        guard case .array(let values) = reply, values.count == fields.count else { throw .malformed(fields.first) }
        return values.map { if case .text(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { "" } }
    }

    // MARK: Sharing

    package enum SharingStep: Sendable {
        case done
        /// The record changed meanwhile: it is to be read again.
        case changed
        case disabled
        /// The owner shares with as many as there is room for.
        case full
    }

    /// With how many a user shares at the most: all of them stand in one field.
    package nonisolated static let maximumRecipients = 1000

    /// Says in the owner's record that something is about to be shared with a user.
    package func announceShare(of owner: UserID, with recipient: UserID) async throws(UserRecordError) -> SharingStep {
        try await step(Self.announceScript, owner, [recipient.text, Self.mark(), String(Self.maximumRecipients)])
    }

    /// Gives a record a revision that has none, so that no end of what is shared can go unnoticed, not even a deletion.
    package func beginShares(with recipient: UserID) async throws(UserRecordError) {
        _ = try await run(Self.beginScript, recipient, [Self.mark()])
    }

    /// Replaces what is shared with a user, unless that changed since it was read.
    ///
    /// - Parameter revision: as it was read; not empty.
    package func setShares(
        _ shares: UserRecord.Shares, with recipient: UserID, revision: String
    ) async throws(UserRecordError) -> SharingStep {
        try await step(Self.setScript, recipient, [revision, Self.mark(), shares.text])
    }

    private func step(
        _ script: RedisScript, _ user: UserID, _ arguments: [String]
    ) async throws(UserRecordError) -> SharingStep {
        switch try await run(script, user, arguments) {
        case .integer(1): .done
        case .integer(0): .changed
        case .integer(-1): .disabled
        case .integer(-2): .full
        default: throw .malformed(nil)
        }
    }

    // MARK: Unsharing

    /// Ends what an owner shares with a user.
    ///
    /// - Parameter prefix: of one folder; `nil` for all.
    /// - Returns: what has ended.
    @discardableResult
    package func unshare(
        _ owner: UserID, with recipient: UserID, prefix: String? = nil
    ) async throws(UserRecordError) -> UserRecord.Shares {
        // The recipient's record alone opens anything: it is changed whatever the owner's says.
        var entry: Recipient?
        var failure: UserRecordError?
        do throws(UserRecordError) { entry = try await recipients(of: owner).first { $0.user == recipient } } catch {
            // What is no hash leads nowhere.
            if error != .malformed(nil) { failure = error }
        }
        let (ended, _) = try await unshare(owner, with: recipient, prefix: prefix, entry)
        if let failure { throw failure }
        return ended
    }

    /// - Parameters:
    ///   - time: ends only what has ended by then; `nil` for all.
    ///   - entry: as the owner's record had it before: one that something has been shared by since stays.
    /// - Returns: what has ended, and whether the owner shares nothing else with the recipient.
    private func unshare(
        _ owner: UserID, with recipient: UserID, prefix: String? = nil, until time: Date? = nil, _ entry: Recipient?
    ) async throws(UserRecordError) -> (ended: UserRecord.Shares, isAll: Bool) {
        let time = time.map { String(Int($0.timeIntervalSince1970)) } ?? ""
        let reply = try await run(Self.unshareScript, recipient, [Self.mark(), owner.text, prefix ?? "", time])
        guard case .array(let values) = reply, values.count == 2, case .text(let ended) = values[1] else {
            throw .malformed(.shares)
        }
        let isAll = values[0] == .integer(0)
        if isAll, let entry { _ = try await run(Self.forgetScript, owner, [entry.word]) }
        return (UserRecord.Shares(String(decoding: ended, as: UTF8.self)), isAll)
    }

    /// Ends all that a user shares, and all that is shared with them.
    ///
    /// - Returns: all of it.
    /// - Throws: ``UnendedSharing`` in the end, for those with whom it could not be ended.
    package func endSharing(of user: UserID) async throws(UnendedSharing) -> [Share] {
        try await endSharing(of: user, keepsRecipients: false).ended
    }

    /// - Parameter keepsRecipients: whether the user's record goes on saying with whom, for ``forgetFormerRecipients(of:at:)``.
    /// - Returns: all of it, and with whom the user's record says.
    func endSharing(
        of user: UserID, keepsRecipients: Bool
    ) async throws(UnendedSharing) -> (ended: [Share], recipients: Set<UserID>) {
        var (ended, found): ([Share], [Share]) = ([], [])
        var recipients: Set<UserID> = []
        var failures: [(user: UserID, error: UserRecordError)] = []
        do throws(UserRecordError) {
            for word in try await texts(of: [.sharedWith], user)[0].split(separator: " ") {
                guard let recipient = Recipient(word) else {
                    // What no command writes leads to no user.
                    _ = try await run(Self.forgetScript, user, [String(word)])
                    continue
                }
                recipients.insert(recipient.user)
                var before: [SharedFolder] = []
                do throws(UserRecordError) {
                    // The script lists it as well, unless its response is lost.
                    before = try await folders(of: user, with: recipient.user)
                    let entry = keepsRecipients ? nil : recipient
                    let removed = try await unshare(user, with: recipient.user, entry).ended.folders
                    ended += removed.map { Share(folder: $0, recipient: recipient.user) }
                } catch {
                    failures.append((recipient.user, error))
                    found += before.map { Share(folder: $0, recipient: recipient.user) }
                }
            }
            let taken = try await shares(with: user).shares.folders
            for owner in Set(taken.map(\.owner)) {
                do throws(UserRecordError) {
                    ended += try await unshare(owner, with: user).folders.map { Share(folder: $0, recipient: user) }
                } catch {
                    failures.append((owner, error))
                    found += taken.filter { $0.owner == owner }.map { Share(folder: $0, recipient: user) }
                }
            }
        } catch {
            failures.append((user, error))
        }
        guard failures.isEmpty else { throw UnendedSharing(failures, ended: ended, found: found) }
        return (ended, recipients)
    }

    /// Forgets those with whom nothing is shared any more that has not ended. Whatever is being shared with one of them by
    /// another command meanwhile finds another revision.
    ///
    /// - Returns: how many that were.
    package func forgetFormerRecipients(of owner: UserID, at time: Date) async throws(UserRecordError) -> Int {
        var forgotten = 0
        for recipient in try await recipients(of: owner) {
            // One whose record cannot be read now may have something.
            guard let folders = try? await shares(with: recipient.user).shares.folders.filter({ $0.owner == owner }),
                folders.allSatisfy({ $0.end <= time }),
                let (_, isAll) = try? await unshare(owner, with: recipient.user, until: time, recipient), isAll
            else { continue }
            forgotten += 1
        }
        return forgotten
    }

    /// Whether anything is stored for a user, a record or not.
    package func isStored(_ user: UserID) async throws(UserRecordError) -> Bool {
        try await texts(of: UserRecord.Field.allCases, user).contains { !$0.isEmpty }
    }

    /// Deletes a record from which nothing is shared.
    ///
    /// - Returns: whether there was one; `nil` for one from which something is shared again.
    package func deleteUnshared(_ user: UserID) async throws(UserRecordError) -> Bool? {
        switch try await run(Self.deleteScript, user, []) {
        case .integer(-1): nil
        case .integer(let count): count == 1
        default: throw .malformed(nil)
        }
    }

    private func run(
        _ script: RedisScript, _ user: UserID, _ arguments: [String]
    ) async throws(UserRecordError) -> RedisReply {
        let key = Self.key(of: user, prefix: keyPrefix)
        do throws(RedisError) { return try await send(script.call(keys: [key], arguments: arguments), key) } catch {
            throw UserRecordError(error)
        }
    }

    private func run(
        _ script: WithdrawalScript, _ user: UserID, _ arguments: [String]
    ) async throws(UserRecordError) -> RedisReply {
        let key = Self.key(of: user, prefix: keyPrefix)
        do throws(RedisError) {
            return try await script.run(keys: [key], arguments: arguments) { call throws(RedisError) in
                try await send(call, key)
            }
        } catch {
            throw UserRecordError(error)
        }
    }

    private func send(_ call: RedisScript.Call, _ key: String) async throws(RedisError) -> RedisReply {
        if let sender { try await sender(call, key) } else { try await redis.run(call) }
    }

    private static func mark() -> String { randomBytes(8).hexadecimal }

    // MARK: Scripts

    private static let announceScript = RedisScript(
        text: """
            local values = redis.call('HMGET', KEYS[1], 'disabled', 'sharedWith')
            if values[1] == '1' then return -1 end
            local words = {}
            for word in string.gmatch(values[2] or '', '%S+') do
                if string.match(word, '^[^/]*') ~= ARGV[1] then words[#words + 1] = word end
            end
            if #words >= tonumber(ARGV[3]) then return -2 end
            words[#words + 1] = ARGV[1] .. '/' .. ARGV[2]
            redis.call('HSET', KEYS[1], 'sharedWith', table.concat(words, ' '))
            return 1
            """)

    private static let beginScript = RedisScript(
        text: """
            if not redis.call('HMGET', KEYS[1], 'sharesRevision')[1] then
                redis.call('HSET', KEYS[1], 'sharesRevision', ARGV[1])
            end
            return 1
            """)

    private static let setScript = RedisScript(
        text: """
            local values = redis.call('HMGET', KEYS[1], 'sharesRevision', 'disabled')
            if not values[1] or values[1] ~= ARGV[1] then return 0 end
            if values[2] == '1' then return -1 end
            redis.call('HSET', KEYS[1], 'sharesRevision', ARGV[2], 'shares', ARGV[3])
            return 1
            """)

    /// What is being shared with the user by another command meanwhile finds another revision; without one nothing is.
    private static let unshareScript = WithdrawalScript(
        text: """
            local values = redis.call('HMGET', KEYS[1], 'sharesRevision', 'shares')
            if not values[1] and not values[2] then return {0, ''} end
            redis.call('HSET', KEYS[1], 'sharesRevision', ARGV[1])
            local kept, removed, left = {}, {}, 0
            for line in string.gmatch(values[2] or '', '[^\\n]+') do
                local time, owner, prefix = string.match(line, '^(%d+) (%S+) (.*)$')
                if owner == ARGV[2] and (ARGV[3] == '' or prefix == ARGV[3])
                    and (ARGV[4] == '' or tonumber(time) <= tonumber(ARGV[4]))
                then
                    removed[#removed + 1] = line
                else
                    kept[#kept + 1] = line
                    if owner == ARGV[2] then left = left + 1 end
                end
            end
            if #kept > 0 then redis.call('HSET', KEYS[1], 'shares', table.concat(kept, '\\n'))
            else redis.call('HDEL', KEYS[1], 'shares') end
            return {left, table.concat(removed, '\\n')}
            """)

    private static let forgetScript = WithdrawalScript(
        text: """
            local kept = {}
            for word in string.gmatch(redis.call('HMGET', KEYS[1], 'sharedWith')[1] or '', '%S+') do
                if word ~= ARGV[1] then kept[#kept + 1] = word end
            end
            if #kept > 0 then redis.call('HSET', KEYS[1], 'sharedWith', table.concat(kept, ' '))
            else redis.call('HDEL', KEYS[1], 'sharedWith') end
            return 1
            """)

    private static let deleteScript = RedisScript(
        text: """
            if redis.call('HMGET', KEYS[1], 'sharedWith')[1] then return -1 end
            return redis.call('DEL', KEYS[1])
            """)
}
