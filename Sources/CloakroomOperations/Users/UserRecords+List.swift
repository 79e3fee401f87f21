import CloakroomLoop
import CloakroomRedis
package import CloakroomServer

extension UserRecords {
    /// Users with a record, as many as Redis looks at in one step; some may come twice.
    ///
    /// - Parameters:
    ///   - cursor: "0" begins; then what the step before gave.
    ///   - prefix: what the ids begin with.
    /// - Returns: the users, and where to go on; "0" at the end.
    /// - Throws: also when another server is the master since the step before, or the server has restarted.
    package func page(
        from cursor: String, startingWith prefix: String = ""
    ) async throws(UserRecordError) -> (users: [UserID], next: String) {
        let before = "\(keyPrefix)user:{"
        let (keys, next) = try await scan(from: cursor, matching: "\(Self.literal(before + prefix))*")
        let users = keys.compactMap { key in
            key.hasPrefix(before) && key.hasSuffix("}") ? UserID(String(key.dropFirst(before.count).dropLast())) : nil
        }
        return (users, next)
    }

    /// Deletes the credentials that workers keep for a user in Redis.
    ///
    /// - Parameter user: `nil` for all users.
    /// - Returns: how many there were.
    /// - Throws: as ``page(from:startingWith:)``; some may be left then.
    package func dropCredentials(of user: UserID?) async throws(UserRecordError) -> Int {
        try await dropCredentials(startingWith: user.map { "\($0.text)}:" } ?? "", of: nil)
    }

    /// The same for several users, in one pass through Redis' keys.
    package func dropCredentials(of users: Set<UserID>) async throws(UserRecordError) -> Int {
        try await dropCredentials(startingWith: "", of: users)
    }

    /// - Parameters:
    ///   - start: what the keys have behind the brace.
    ///   - users: `nil` for all of them.
    private func dropCredentials(
        startingWith start: String, of users: Set<UserID>?
    ) async throws(UserRecordError) -> Int {
        let before = "\(keyPrefix)cred:{"
        var cursor = "0"
        var count = 0
        repeat {
            let (keys, next) = try await scan(from: cursor, matching: "\(Self.literal(before + start))*")
            for key in keys {
                if let users {
                    let id = key.dropFirst(before.count).prefix { $0 != "}" }
                    guard let user = UserID(String(id)), users.contains(user) else { continue }
                }
                if try await send(["DEL", key]) == .integer(1) { count += 1 }
            }
            cursor = next
        } while cursor != "0"
        return count
    }

    private func scan(
        from cursor: String, matching pattern: String
    ) async throws(UserRecordError) -> (keys: [String], next: String) {
        do throws(RedisError) { return try await redis.scan(from: cursor, matching: pattern) } catch {
            throw .redis(error)
        }
    }

    private func send(_ words: [String]) async throws(UserRecordError) -> RedisReply {
        do throws(RedisError) { return try await redis.send(RedisCommand(words)) } catch { throw .redis(error) }
    }

    /// The text as a pattern that only it fits (redis.io, KEYS).
    nonisolated static func literal(_ text: String) -> String {
        text.reduce(into: "") { pattern, character in
            if "*?[]^\\".contains(character) { pattern.append("\\") }
            pattern.append(character)
        }
    }
}
