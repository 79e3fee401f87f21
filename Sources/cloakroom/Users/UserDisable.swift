import CloakroomOperations
import CloakroomServer

/// `cloakroom user disable`
enum UserDisable: UserCommand {
    static let syntax = UserCommandLine.syntax(
        "user disable", "refuse everything from now on", values: ["reason": .text], flags: ["any-id"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options, makesRecord: true)
        let reason = options.values["reason"] ?? "operator"
        guard (1...200).contains(reason.utf8.count), reason.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw .usage("--reason takes one line of up to 200 bytes")
        }
        return line.withRecords { records in
            let isNew = await records.hasRecord(of: user) == false
            var change = UserRecordChange()
            change.disabled(reason)
            let replication = try await records.applyReplicated(
                change, to: user, hasFailover: line.settings.redis.servers.hasFailover)
            if isNew { Output.note(UserCommandLine.sentence(ofNew: user)) }
            let replicated = UserCommandLine.note(replication)
            let told = await UserEvents.tell([.userDisabled(reason: reason)], of: user, records, line.settings)
            let ended = await UserSharing.end(of: user, records, line)
            return told.and(ended).and(replicated)
        }
    }
}

/// `cloakroom user enable`
enum UserEnable: UserCommand {
    static let syntax = UserCommandLine.syntax("user enable", "take a disable back")

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options)
        return line.withRecords { records in
            guard try await records.enable(user) else { return Output.fail("there is no record of \(user.text)") }
            return .success
        }
    }
}
