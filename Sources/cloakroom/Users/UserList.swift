import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// `cloakroom user list`
enum UserList: UserCommand {
    static let syntax = CommandSyntax(
        "user list", "users with a record", values: ["prefix": .text, "limit": .text, "cursor": .text],
        flags: ["json"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try UserCommandLine(options)
        let prefix = options.values["prefix"] ?? ""
        let cursor = options.values["cursor"] ?? "0"
        guard prefix.isEmpty || UserID(prefix) != nil else {
            throw .usage("--prefix takes the beginning of a user's id")
        }
        let limit = try options.number("limit", 1...100_000, default: 1000)
        guard line.settings.redis.servers.isCursor(cursor) else {
            throw .usage("--cursor takes what an earlier list ended with")
        }
        let (settings, isJSON) = (line.settings, options.flags.contains("json"))
        return line.withRecords { records in
            if !isJSON { Output.print(UserRecord.heading) }
            var seen: Set<UserID> = []
            var cursor = cursor
            repeat {
                let (users, next) = try await records.page(from: cursor, startingWith: prefix)
                // Redis may name a key twice while it moves its table.
                for user in users where seen.insert(user).inserted {
                    try await show(user, records, settings, isJSON: isJSON)
                }
                cursor = next
            } while cursor != "0" && seen.count < limit
            if cursor != "0" { Output.note("there are more: --cursor \(cursor)") }
            return .success
        }
    }

    /// A record that cannot be read is told of, and does not hide the others.
    @LoopActor
    private static func show(
        _ user: UserID, _ records: UserRecords, _ settings: Settings, isJSON: Bool
    ) async throws {
        switch await records.outcome(for: user) {
        case .success(let record?):
            let isUnknown = settings.lacksTier(of: record)
            Output.print(
                isJSON
                    ? record.json(of: user, isTierUnknown: isUnknown) : record.row(of: user, isTierUnknown: isUnknown))
        case .success(nil): return
        case .failure(.malformed(let field)):
            Output.note("the record of \(user.text) cannot be read: \(field?.rawValue ?? "it is no hash")")
        case .failure(let error): throw error
        }
    }
}

extension Settings.Redis.Servers {
    /// Whether a list of keys can have ended so: with a server and a number, behind a cluster's owners of slots and a
    /// primary. Without the right to `INFO`, and in earlier versions, the server is left out; not with sentinels.
    func isCursor(_ text: String) -> Bool {
        guard text != "0" else { return true }
        var parts = text.split(separator: ":", omittingEmptySubsequences: false)
        if case .cluster = self {
            guard parts.count > 2, UInt64(parts[0], radix: 16) != nil, UInt16(parts[1]) != nil else { return false }
            parts.removeFirst(2)
        }
        guard let number = parts.popLast(), UInt64(number) != nil else { return false }
        if case .sentinels = self, parts.isEmpty { return false }
        return parts.isEmpty || parts.count == 1 && parts[0].count == 16 && UInt64(parts[0], radix: 16) != nil
    }
}

extension UserRecords {
    fileprivate func outcome(for user: UserID) async -> Result<UserRecord?, UserRecordError> {
        do throws(UserRecordError) { return .success(try await wholeRecord(of: user)) } catch { return .failure(error) }
    }
}
