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
            if keepsRevocation, let end = try await records.revocationEnd(of: user, at: Date(), by: line.settings) {
                return Output.fail(Self.sentence(ofRevoked: user, until: end, line.settings.tokens))
            }
            let isRevoked = try await records.revocation(of: user) != nil
            let isReadable = await records.isHash(user)
            let deletion: (isDeleted: Bool?, ended: [UserRecords.Share], replication: RecordReplication?)
            do {
                deletion = try await records.deleteReplicated(
                    user, hasFailover: line.settings.redis.servers.hasFailover)
            } catch let failure as UserRecords.UndeletedRecord {
                // The next run finds it no more.
                UserSharing.note(failure.ended, of: user, line)
                throw failure.cause
            }
            let (isDeleted, ended, replication) = deletion
            guard let isDeleted else {
                UserSharing.note(ended, of: user, line)
                Output.note(
                    "the record of \(user.text) is kept until a replica has the end of what is shared: without the record no "
                        + "command would find it again")
                return UserCommandLine.note(replication)
            }
            guard isDeleted else { return Output.fail("there is no record of \(user.text)") }
            if isRevoked { Output.note(Self.sentence(ofForgotten: user, line.settings.tokens)) }
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

    /// How long issuers' tokens live, the settings do not tell.
    static func sentence(ofRevoked user: UserID, until end: Date, _ tokens: Settings.Tokens) -> String {
        "nothing is deleted: \(user.text) was revoked, and without the record workers would accept again what is from "
            + "before, and hand out what IAM may deny; delete it after \(end.wireText), or with --forget-revocation; "
            + "tokens of \(names(tokens)) may live longer, and would count again: keep the record until they expire"
    }

    static func sentence(ofForgotten user: UserID, _ tokens: Settings.Tokens) -> String {
        "the revocation of \(user.text) is forgotten: what is from before and has not expired no longer counts as "
            + "revoked, tokens of \(names(tokens)) included"
    }

    private static func names(_ tokens: Settings.Tokens) -> String {
        tokens.issuers.map(\.name).joined(separator: ", ")
    }
}
