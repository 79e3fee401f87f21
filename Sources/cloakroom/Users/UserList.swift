import CloakroomLoop
import CloakroomOperations
import CloakroomServer

/// `cloakroom user list`
enum UserList {
    static func run(_ arguments: [String]) -> ExitStatus {
        switch UserCommandLine.read(arguments, of: .userList, takesUser: false) {
        case .failure(let ended): return ended.status
        case .success(let line):
            let prefix = line.options.values["prefix"] ?? ""
            let cursor = line.options.values["cursor"] ?? "0"
            guard prefix.isEmpty || UserID(prefix) != nil else {
                return Output.usage("--prefix takes the beginning of a user's id", see: "cloakroom user --help")
            }
            guard let limit = Int(line.options.values["limit"] ?? "1000"), (1...100_000).contains(limit) else {
                return Output.usage("--limit takes 1…100000", see: "cloakroom user --help")
            }
            guard UInt64(cursor) != nil else {
                return Output.usage("--cursor takes what an earlier list ended with", see: "cloakroom user --help")
            }
            let isJSON = line.options.flags.contains("json")
            return line.withRecords { records in
                if !isJSON { Output.print(UserRecord.heading) }
                var seen: Set<UserID> = []
                var cursor = cursor
                repeat {
                    let (users, next) = try await records.page(from: cursor, startingWith: prefix)
                    // Redis may name a key twice while it moves its table.
                    for user in users where seen.insert(user).inserted {
                        try await show(user, records, isJSON: isJSON)
                    }
                    cursor = next
                } while cursor != "0" && seen.count < limit
                if cursor != "0" { Output.note("there are more: --cursor \(cursor)") }
                return .success
            }
        }
    }

    /// A record that cannot be read is told of, and does not hide the others.
    @LoopActor
    private static func show(_ user: UserID, _ records: UserRecords, isJSON: Bool) async throws {
        switch await records.outcome(for: user) {
        case .success(let record?): Output.print(isJSON ? record.json(of: user) : record.row(of: user))
        case .success(nil): return
        case .failure(.malformed(let field)):
            Output.note("the record of \(user.text) cannot be read: \(field?.rawValue ?? "it is no hash")")
        case .failure(let error): throw error
        }
    }
}

extension UserRecords {
    fileprivate func outcome(for user: UserID) async -> Result<UserRecord?, UserRecordError> {
        do throws(UserRecordError) { return .success(try await wholeRecord(of: user)) } catch { return .failure(error) }
    }
}
