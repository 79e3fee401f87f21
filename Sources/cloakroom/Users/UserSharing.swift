import CloakroomJSON
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom user share`
enum UserShare: UserCommand {
    static let syntax = UserCommandLine.syntax(
        "user share", "let another user read a folder", values: ["with": .text, "prefix": .text, "until": .text],
        flags: ["any-id"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, owner) = try UserCommandLine.ofUser(options, makesRecord: true)
        let recipient = try UserSharing.recipient(options)
        try line.requireIssued(recipient, options)
        let now = Date()
        guard let prefix = options.values["prefix"] else {
            throw .usage("share takes --prefix, such as photos/\(owner.text)/albums/spring/")
        }
        if let fault = SharedFolder.fault(of: prefix) { throw .usage("the prefix \(fault)") }
        guard let until = options.values["until"].flatMap({ DateArgument.date($0, from: now) }), until > now,
            let folder = SharedFolder(owner: owner, prefix: prefix, end: until)
        else { throw .usage("share takes --until, a time that lies ahead, such as 2027-01-31T12:00:00Z, +30d or +12h") }
        guard line.settings.vending.sharing else {
            throw .failure("vending.sharing is false in the settings: no worker would heed what this writes")
        }
        return line.withRecords { records in
            do {
                let (scopes, shortened, replication) = try await records.shareReplicated(
                    folder, with: recipient, line.settings, now: now)
                Output.note(
                    "\(recipient.text) reads \(prefix) until \(folder.end.wireText), with credentials vended from now on, of "
                        + (scopes.count == 1
                            ? "the scope \(scopes[0])" : "the scopes \(scopes.joined(separator: ", "))"))
                if shortened != nil { Output.note(UserSharing.sentence([recipient], line, after: folder.end)) }
                return UserCommandLine.note(replication)
            } catch let refusal as ShareRefusal {
                return Output.fail(sentence(refusal, folder, recipient, line))
            }
        }
    }

    static func sentence(
        _ refusal: ShareRefusal, _ folder: SharedFolder, _ recipient: UserID, _ line: UserCommandLine
    ) -> String {
        let shares = line.proposal(UserShares.self, recipient)
        let (owner, prefix, recipient) = (folder.owner.text, folder.prefix, recipient.text)
        return switch refusal {
        case .busy: "other commands change the record of \(recipient) all the time; run this again"
        case .sameUser: "\(owner) reads \(prefix) anyway"
        case .place(let folders):
            "\(prefix) is in no folder of \(owner): give one below \(folders.joined(separator: " or "))"
        case .tooShort(let until):
            "the store's policies do not know the time, so sessions end with what is shared, and none is shorter than "
                + "15 minutes: give a time after \(until.wireText)"
        case .ownerDisabled: "\(owner) is disabled, and shares nothing"
        case .recipientDisabled: "\(recipient) is disabled, and gets nothing"
        case .recipientUnknown:
            "there is no record of \(recipient), and entitlements.withoutRecord refuses who has none: cloakroom user set"
        case .tooManyRecipients:
            "\(owner) shares with \(UserRecords.maximumRecipients) users already: cloakroom user unshare"
        case .tooManyOwners:
            "\(SharedFolders.maximumOwners) users share with \(recipient) already, more a session cannot be tagged with: "
                + shares
        case .tooManyFolders:
            "\(SharingRules.maximumFolders) folders are shared with \(recipient) already: \(shares)"
        case .tooLarge(let tier, besidesOthers: true):
            "STS would not take so large a policy for \(recipient) in the tier \(tier): unshare another folder, or share "
                + "one above both: \(shares)"
        case .tooLarge(let tier, besidesOthers: false):
            "STS would not take so large a policy for \(recipient): no scope of the tier \(tier) leaves room for it; one "
                + "with fewer folders or actions would: see cloakroom policy show"
        case .unknownTier(let tier):
            "the record of \(recipient) names the tier \(tier), which the settings do not have: cloakroom user set"
        case .unread(let tiers):
            "\(recipient) could not read it: no scope of the tier \(tiers.joined(separator: ", ")) reads all of the own "
                + "folder there without a condition"
        }
    }
}

/// `cloakroom user unshare`
enum UserUnshare: UserCommand {
    static let syntax = UserCommandLine.syntax(
        "user unshare", "end what a user shares", values: ["with": .text, "prefix": .text])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, owner) = try UserCommandLine.ofUser(options)
        let recipient = try UserSharing.recipient(options)
        let prefix = options.values["prefix"]
        if let fault = prefix.flatMap(SharedFolder.fault) { throw .usage("the prefix \(fault)") }
        return line.withRecords { records in
            let (ended, replication) = try await records.unshareReplicated(
                owner, with: recipient, prefix: prefix, hasFailover: line.settings.redis.servers.hasFailover)
            let replicated = UserCommandLine.note(replication)
            if !ended.isEmpty { Output.note(UserSharing.sentence([recipient], line)) }
            if let prefix {
                let left = try await records.shares(with: recipient).shares.folders.filter { $0.owner == owner }
                for text in Self.left(left, of: prefix, recipient, line) { Output.note(text) }
            }
            guard !ended.isEmpty else {
                return Output.fail("\(owner.text) does not share \(prefix ?? "anything") with \(recipient.text)")
            }
            return replicated
        }
    }

    /// What lies above a folder opens it, too; what lies in it stays open.
    static func left(
        _ folders: [SharedFolder], of prefix: String, _ recipient: UserID, _ line: UserCommandLine
    ) -> [String] {
        folders.compactMap { folder in
            let command = line.proposal(
                UserUnshare.self, folder.owner, ["--with", recipient.text, "--prefix", folder.prefix])
            if prefix.hasPrefix(folder.prefix) {
                return "\(recipient.text) reads it all the same, below \(folder.prefix), until: \(command)"
            }
            return folder.prefix.hasPrefix(prefix)
                ? "\(recipient.text) reads \(folder.prefix) all the same, until: \(command)" : nil
        }
    }
}

/// `cloakroom user shares`
enum UserShares: UserCommand {
    static let syntax = UserCommandLine.syntax(
        "user shares", "what a user shares, and what is shared with them", flags: ["json"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options)
        let isJSON = options.flags.contains("json")
        return line.withRecords { records in
            let (taken, unreadable) = try await records.shares(with: user).shares.read()
            var given: [(recipient: UserID, folder: SharedFolder)] = []
            for recipient in try await records.recipients(of: user) {
                guard let folders = try? await records.shares(with: recipient.user).shares.folders else {
                    Output.note("the record of \(recipient.user.text) cannot be read")
                    continue
                }
                given += folders.filter { $0.owner == user }.map { (recipient.user, $0) }
            }
            if unreadable > 0 {
                Output.note("\(unreadable) lines of the record hold what no command writes; they share nothing")
            }
            return Output.print(isJSON ? json(given, taken) : text(given, taken, now: Date()))
        }
    }

    private static func text(
        _ given: [(recipient: UserID, folder: SharedFolder)], _ taken: [SharedFolder], now: Date
    ) -> String {
        let lines =
            given.map { "shares \($0.folder.prefix) with \($0.recipient.text) \(time($0.folder, now))" }
            + taken.map { "reads \($0.prefix) of \($0.owner.text) \(time($0, now))" }
        return lines.isEmpty ? "shares nothing, and nothing is shared" : lines.joined(separator: "\n")
    }

    private static func time(_ folder: SharedFolder, _ now: Date) -> String {
        "until \(folder.end.wireText)\(folder.end <= now ? ", which is over" : "")"
    }

    private static func json(_ given: [(recipient: UserID, folder: SharedFolder)], _ taken: [SharedFolder]) -> String {
        var writer = JSONWriter()
        func list(_ name: StaticString, _ entries: [(key: StaticString, user: UserID, folder: SharedFolder)]) {
            writer.plainName(name)
            writer.beginArray()
            for entry in entries {
                writer.beginObject()
                writer.member(entry.key, entry.user.text)
                writer.member("prefix", entry.folder.prefix)
                writer.member("until", entry.folder.end.wireText)
                writer.endObject()
            }
            writer.endArray()
        }
        writer.beginObject()
        list("shares", given.map { ("with", $0.recipient, $0.folder) })
        list("reads", taken.map { ("owner", $0.owner, $0) })
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// What commands about sharing have in common with those that end it.
enum UserSharing {
    static func recipient(_ options: Options) throws(EarlyExit) -> UserID {
        guard let text = options.values["with"] else { throw .usage("this takes --with, the other user's id") }
        guard let user = UserID(text) else {
            throw .usage("--with takes a user's id: 1 to 64 letters, digits, - and _")
        }
        return user
    }

    /// Ends all that a user shares and all that is shared with them. Credentials that workers keep are looked for by all that
    /// they open, so those that open too much are found no more.
    ///
    /// - Returns: a failure, already told, when something could not be ended; ``ExitStatus/unfinished`` where a failover may
    ///   undo it.
    @LoopActor
    static func end(of user: UserID, _ records: UserRecords, _ line: UserCommandLine) async -> ExitStatus {
        let redis = line.settings.redis
        do {
            let (ended, replication) = try await records.endSharingReplicated(
                of: user, hasFailover: redis.servers.hasFailover)
            note(ended, of: user, line)
            return UserCommandLine.note(replication)
        } catch let failure as UserRecords.UnendedSharing {
            note(failure.ended, of: user, line)
            return Output.fail(sentence(failure, redis))
        } catch let RecordChangeError.records(failure) {
            return Output.fail(sentence(UserRecords.UnendedSharing(users: [user], error: failure), redis))
        } catch {
            return Output.fail("sharing may not have ended: \((error as? RecordChangeError)?.sentence ?? "\(error)")")
        }
    }

    static func sentence(_ failure: UserRecords.UnendedSharing, _ redis: Settings.Redis) -> String {
        "what is shared is not ended with \(failure.users.map(\.text).joined(separator: ", ")): "
            + UserCommandLine.sentence(failure.error, redis) + "; then run this again"
    }

    /// Says what a user shared and what was shared with them, so that it can be given anew.
    static func note(_ ended: [UserRecords.Share], of user: UserID, _ line: UserCommandLine) {
        for (folder, recipient) in ended.map({ ($0.folder, $0.recipient.text) }) {
            Output.note(
                "ended: \(folder.owner.text) shared \(folder.prefix) with \(recipient) until \(folder.end.wireText)")
        }
        var recipients: [UserID] = []
        for recipient in ended.map(\.recipient) where recipient != user && !recipients.contains(recipient) {
            recipients.append(recipient)
        }
        if !recipients.isEmpty { Output.note(sentence(recipients, line)) }
    }

    /// - Parameter end: of what is shared still, but was until later.
    static func sentence(_ recipients: [UserID], _ line: UserCommandLine, after end: Date? = nil) -> String {
        let commands = recipients.map { line.proposal(UserRevoke.self, $0, ["--keep-enabled", "--apply"]) }
        let ids = recipients.map(\.text).joined(separator: ", ")
        let time = end.map { " after \($0.wireText)" } ?? ""
        return
            "no credentials vended to \(ids) from now on read that\(time); those that are out do so to "
            + "their end, unless you revoke them, which ends what others share with them as well, and says what that was:"
            + (commands.count == 1 ? " \(commands[0])" : commands.map { "\n  \($0)" }.joined())
    }
}
