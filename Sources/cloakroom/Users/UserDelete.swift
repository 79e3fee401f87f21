import CloakroomOperations
import CloakroomServer

/// `cloakroom user delete`
enum UserDelete: UserCommand {
    static let syntax = CommandSyntax("user delete", "delete the record", operands: [.text, .file])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options)
        return line.withRecords { records in
            let isReadable = await records.isHash(user)
            let (isDeleted, ended, replication) = try await records.deleteReplicated(
                user, hasFailover: line.settings.redis.servers.hasFailover)
            guard isDeleted else { return Output.fail("there is no record of \(user.text)") }
            UserSharing.note(ended, of: user)
            if let replication { Output.note(replication.sentence) }
            guard isReadable else {
                return Output.fail(
                    "what is deleted was no record: whatever \(user.text) shared is shared to its end, unless you run "
                        + "cloakroom user unshare \(user.text) --with each who may have it")
            }
            return .success
        }
    }
}
