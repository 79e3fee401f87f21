import CloakroomLoop
import CloakroomOperations
import CloakroomRedis
import CloakroomServer

/// The command line of a command about users' records, and the way from it to them.
struct UserCommandLine {
    let settings: Settings
    let file: String

    /// - Parameter options: with the settings file as the only operand.
    init(_ options: Options) throws(EarlyExit) {
        try self.init(file: try options.settingsFile(usage: "this takes one settings file"))
    }

    private init(file: String) throws(EarlyExit) {
        self.init(settings: try Self.settings(file), file: file)
    }

    init(settings: Settings, file: String) {
        self.settings = settings
        self.file = file
    }

    /// Of a command about one user: the id stands before the settings file, or issuer and subject in its place.
    static func syntax(
        _ command: String, _ summary: String, values: [String: CommandSyntax.Value] = [:], flags: Set<String> = []
    ) -> CommandSyntax {
        let identity: [String: CommandSyntax.Value] = ["issuer": .text, "subject": .text]
        return CommandSyntax(
            command, summary, values: values.merging(identity) { own, _ in own }, flags: flags,
            operands: [.text, .file])
    }

    /// - Parameters:
    ///   - options: of ``syntax(_:_:values:flags:)``.
    ///   - makesRecord: whether the command makes a record where there is none; it then has the flag `any-id`.
    static func ofUser(
        _ options: Options, makesRecord: Bool = false
    ) throws(EarlyExit) -> (line: Self, user: UserID) {
        guard options.values["issuer"] == nil, options.values["subject"] == nil else { return try ofSubject(options) }
        guard options.operands.count == 2 else { throw .usage("this takes a user's id and one settings file") }
        guard let user = UserID(options.operands[0]) else {
            throw .usage("that is no user id: it has 1 to 64 letters, digits, - and _")
        }
        let line = try Self(file: options.operands[1])
        if makesRecord { try line.requireIssued(user, options) }
        return (line, user)
    }

    private static func ofSubject(_ options: Options) throws(EarlyExit) -> (line: Self, user: UserID) {
        guard let subject = options.values["subject"], !subject.isEmpty else {
            throw .usage("--issuer goes with --subject: what the issuer's tokens call the user")
        }
        guard options.operands.count == 1 else {
            throw .usage("with --subject this takes one settings file, and no user's id")
        }
        let line = try Self(file: options.operands[0])
        guard let user = line.settings.userID(ofSubject: subject, issuer: options.values["issuer"]) else {
            let issuers = line.settings.tokens.issuers.map(\.name).joined(separator: ", ")
            throw .usage("--issuer takes one of the settings' issuers: \(issuers)")
        }
        Output.note("the user is \(user.text)")
        return (line, user)
    }

    /// Refuses an id that no token can have, unless the operator insists: what is recorded under it affects no user.
    func requireIssued(_ user: UserID, _ options: Options) throws(EarlyExit) {
        guard !settings.isIssued(user), !options.flags.contains("any-id") else { return }
        throw .usage(
            "no token can be of the user \(user.text): all issuers of the settings map their subjects, to u_ and a UUID; "
                + "give --subject in place of the id, or --any-id with it")
    }

    /// A command about a user that a sentence proposes, as a shell takes it, with the settings of this one.
    func proposal(_ command: any Command.Type, _ user: UserID, _ options: [String] = []) -> String {
        let syntax = command.syntax
        let insists = syntax.flags.contains("any-id") && !settings.isIssued(user)
        let all = options + (insists ? ["--any-id"] : [])
        // What begins with a hyphen and is no option stands behind `--`.
        let needsEnd = user.text.hasPrefix("-") || file.hasPrefix("-")
        let words: [String] = needsEnd ? all + ["--", user.text, file] : [user.text] + all + [file]
        return (["cloakroom"] + syntax.words + words).map(NextCommands.quoted).joined(separator: " ")
    }

    /// Of a user without a record, who has one now.
    static func sentence(ofNew user: UserID) -> String {
        "there was no record of \(user.text), and one is made: is the id right? Object keys and the audit have it; "
            + "--subject finds it"
    }

    /// Says on how many of Redis' replicas a change is.
    ///
    /// - Parameter replication: `nil` where Redis is one server, for which nothing is said.
    /// - Returns: ``ExitStatus/unfinished`` where a failover may lose it.
    static func note(_ replication: RecordReplication?) -> ExitStatus {
        guard let replication else { return .success }
        Output.note(replication.sentence)
        return replication.needsRepetition ? .unfinished : .success
    }

    private static func settings(_ file: String) throws(EarlyExit) -> Settings {
        let settings = try SettingsFile.require(file)
        guard settings.entitlements.enabled else {
            throw .failure("entitlements.enabled is false in \(file): no worker would read what this writes")
        }
        return settings
    }

    /// Runs the loop until the body is done with the records.
    func withRecords(_ body: @escaping @LoopActor @Sendable (UserRecords) async throws -> ExitStatus) -> ExitStatus {
        let settings = settings
        return .onLoop {
            do {
                let redis = try settings.redis.clientForPeople(atLeast: .seconds(5))
                defer { redis.close() }
                await redis.settle(within: .seconds(5))
                return try await body(UserRecords(redis: redis, keyPrefix: settings.redis.keyPrefix))
            } catch let error as UserRecordError {
                return Output.fail(Self.sentence(error, settings.redis))
            } catch let error as UserRecords.UnendedSharing {
                return Output.fail(UserSharing.sentence(error, settings.redis))
            } catch let error as RecordChangeError {
                if case .records(let error) = error { return Output.fail(Self.sentence(error, settings.redis)) }
                return Output.fail(error.sentence ?? "\(error)")
            } catch {
                return Output.fail("\(error)")
            }
        }
    }

    private static let fromTheBeginning = "run this again from the beginning, a list without --cursor"

    static func sentence(_ error: UserRecordError, _ redis: Settings.Redis) -> String {
        switch error {
        case .malformed(let field?):
            "the record's \(field.rawValue) holds what no command writes; set it anew, or delete the record"
        case .malformed(nil): "the record's key holds something else; delete the record"
        case .redis(.refused(code: "MOVED")) where redis.servers.isCluster:
            "slots of \(redis.servers) have moved meanwhile, and some keys may be missing; \(fromTheBeginning)"
        case .redis(.refused(code: "NOCURSOR")):
            "Redis at \(redis.servers) has another master or has restarted meanwhile, and some keys may be missing; "
                + fromTheBeginning
        case .redis(.refused(let code)):
            "Redis at \(redis.servers) refuses with \(code); \(RedisError.refused(code: code).advice)"
        case .redis(.tls(let failure)):
            "no connection through TLS to Redis at \(redis.servers): \(failure.text); \(RedisError.tls(failure).advice)"
        case .redis(let error):
            "Redis at \(redis.servers) does not respond (\(error.label)); is it running, and is \(redis.servers.key) right?"
        }
    }
}

extension Settings.Redis.Servers {
    fileprivate var isCluster: Bool { if case .cluster = self { true } else { false } }
}
