import CloakroomAWS
import CloakroomOperations
import CloakroomServer

/// `cloakroom check`
enum CheckCommand: Command {
    static let syntax = CommandSyntax(
        "check", "say what is wrong with a settings file, all of it at once", values: ["former": .file],
        flags: ["strict"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let line = try SettingsCommandLine(options)
        let (file, settings) = (line.file, line.settings)
        let former: Settings? = if let path = options.values["former"] { try SettingsFile.require(path) } else { nil }
        do {
            let chain = AWSCredentials.chain(
                settings.aws, transport: OfflineTransport(), runtime: RuntimeDependencies())
            let origin = try chain.expectedOrigin()
            if let fault = AuditFile.fault(settings) { throw fault }
            let multipart = settings.uploads.idKeys.isEmpty ? "none: uploads.idKeys is not set" : "set up"
            let review = SettingsReview(settings)
            let roles = roles(settings)
            let isGood = review.errors.isEmpty && roles.errors.isEmpty
            let state = isGood ? "good" : "serve starts with it, but it has errors"
            Output.print(
                "\(file): \(state)\nAWS credentials: \(origin)\nMultipart uploads: \(multipart)\n"
                    + "Images of chats: \(chats(settings))")
            let change = former.map { SettingsReview.policyChange(from: $0, to: settings) }
            let records = former.map { RecordChange(from: $0, to: settings).warnings } ?? []
            (roles.lines + roles.errors.map(\.error) + review.lines + records.map(\.warning) + notes(settings)
                + [review.policies, change].compactMap(\.self))
                .forEach { Output.print($0) }
            return isGood || !options.flags.contains("strict") ? .success : .failure
        } catch let error as CredentialChainError {
            return Output.fail("\(file) is good, but there are \(error)")
        } catch let error as AuditFileError {
            return Output.fail("\(file) is good, but \(error)")
        } catch {
            return Output.fail("\(error)")
        }
    }

    /// Nothing where there is but the role of `vending.roleARN`. The worker starts without the credentials of another one.
    private static func roles(_ settings: Settings) -> (lines: [String], errors: [SettingsReview.Remark]) {
        let roles = settings.vending.roles
        guard roles.active.count + roles.retired.count > 1 else { return ([], []) }
        var errors: [SettingsReview.Remark] = []
        var lines = ["Users are spread over \(roles.active.count) roles:"]
        for role in roles.active + roles.retired {
            var origin = "the worker's credentials"
            if let profile = role.profile {
                let chain = AWSCredentials.chain(
                    settings.aws.of(profile: profile), transport: OfflineTransport(), runtime: RuntimeDependencies())
                do throws(CredentialChainError) {
                    origin = try chain.expectedOrigin()
                } catch {
                    origin = "no credentials"
                    let fault = roles.active.contains(role) ? "its users get 503" : "no revocation reaches it"
                    errors.append(
                        SettingsReview.Remark(
                            text: "the role \(role.name) has no credentials: \(fault): \(error.summary)",
                            advice:
                                "let the worker's user read the profile \(profile), in the files that AWS_CONFIG_FILE "
                                + "and AWS_SHARED_CREDENTIALS_FILE name"))
                }
            }
            let how = roles.active.contains(role) ? "\(role.sts.host)" : "retired: only revocations reach it"
            lines.append("    \(role.name): \(role.arn), \(how), \(origin)")
        }
        return (lines, errors)
    }

    private static func chats(_ settings: Settings) -> String {
        guard let chat = settings.uploads.chat else { return "as all others: uploads.chatKeyPrefix is not set" }
        let how = chat.mode == .delete ? "deleted" : "tagged, and deleted within two days"
        return "under \(chat.keyPrefix), \(how) when they are released, else after \(chat.retentionDays) days"
    }

    /// What is good, but should be known.
    private static func notes(_ settings: Settings) -> [String] {
        let reserved = settings.reservedUserIDs.components.map {
            "Reserved user id: \($0.id), the folder of which \($0.setting) uses, beside vending.prefixes \"\""
        }
        let large = settings.vending.scopes.names.compactMap { settings.vending.scopes[$0] }
            .filter { $0.policy.packedPercent > 100 }.map {
                "The scope \($0.name) takes about \($0.policy.packedPercent) % of what STS packs, by estimate: "
                    + "`cloakroom doctor --only role,scopes` tests it with STS"
            }
        let undated = settings.tokens.issuers.filter { !$0.datesTokens }.map {
            "Tokens without iat and nbf: of \($0.name); once a user is revoked, all of them are refused until "
                + "`cloakroom user set ID --accept-undated-tokens`"
        }
        let tiers = settings.tieredFolders.note.map { "Tiered photo storage: \($0)" }
        return reserved + large + undated + [tiers, audit(settings)].compactMap(\.self)
    }

    private static func audit(_ settings: Settings) -> String? {
        switch settings.audit.destination {
        case .standardError:
            "Audit: to standard error, of which journald and the kubelet keep the newest lines alone; audit.file keeps "
                + "all of them, audit.stream more of them"
        case .stream where settings.redis.servers.hasFailover:
            "Audit: to a Redis stream, and a failover may lose lines of what was issued; audit.file keeps all of them"
        case .file, .stream: nil
        }
    }

    static let help = """
        Usage: cloakroom check [--strict] [--former FILE] SETTINGS

        Reads a settings file as `serve` would, with the environment and the files it names, and tells all that is
        wrong: where, why, and what to do about it; then, where the worker's AWS credentials would come from, and whether
        the audit's file can be written. Run it as the worker's user. Nothing is asked of the network.

        Then follow errors and warnings about what the settings mean, with which serve starts all the same, and what the
        policies of the worker and of a CDN have to allow: where a place is missing in them, S3 answers 403.

        Options:
          --strict       exit with 1 for such errors as well
          --former FILE  the settings that serve runs with now: print what these policies have to allow besides, before
                         serve is reloaded, and what they need not any more; warn of tiers that are gone, and of users'
                         records that would be looked for elsewhere in Redis

        Exit status: 0 serve starts with it, 1 it has faults, 2 the command line was not understood.

        Examples:
          cloakroom check cloakroom.json5
          cloakroom check --former /etc/cloakroom/cloakroom.json5 new.json5
          cloakroom check /etc/cloakroom/cloakroom.json5 && systemctl reload cloakroom
        """
}
