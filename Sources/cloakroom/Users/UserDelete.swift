import CloakroomOperations
import CloakroomServer
import CloakroomWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom user delete`
enum UserDelete: UserCommand {
    static let syntax = UserCommandLine.syntax(
        "user delete", "delete the record", flags: ["forget-revocation"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options)
        let keepsRevocation = !options.flags.contains("forget-revocation")
        return line.withRecords { records in
            if keepsRevocation, let end = try await records.revocationEnd(of: user, at: Date()) {
                return Output.fail(
                    "nothing is deleted: \(user.text) was revoked, and without the record workers would hand out again what "
                        + "IAM may deny; delete it after \(end.wireText), or with --forget-revocation")
            }
            let isReadable = await records.isHash(user)
            let (isDeleted, ended, replication) = try await records.deleteReplicated(
                user, hasFailover: line.settings.redis.servers.hasFailover)
            guard isDeleted else { return Output.fail("there is no record of \(user.text)") }
            UserSharing.note(ended, of: user, line)
            let replicated = UserCommandLine.note(replication)
            guard isReadable else {
                return Output.fail(
                    "what is deleted was no record: whatever \(user.text) shared is shared to its end, unless you end that "
                        + "with each ID2 who may have it: "
                        + line.proposal(UserUnshare.self, user, ["--with", "ID2"]))
            }
            return replicated
        }
    }
}
