import CloakroomAWS
import CloakroomLoop
import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom user revoke`
enum UserRevoke: Command {
    static let syntax = CommandSyntax(
        "user revoke", "disable, and deny what was issued before", flags: ["apply", "keep-enabled"],
        operands: [.text, .file])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options)
        let flags = options.flags
        return line.withRecords { records in
            try await revoke(
                user, records, line.settings, applies: flags.contains("apply"),
                disables: !flags.contains("keep-enabled"))
        }
    }

    @LoopActor
    private static func revoke(
        _ user: UserID, _ records: UserRecords, _ settings: Settings, applies: Bool, disables: Bool
    ) async throws -> ExitStatus {
        let upstreams = applies ? Upstreams(of: settings) : nil
        let roles = settings.vending.roles.distinct
        let revocation = Revocation(
            records: records, requestDeadline: settings.server.requestDeadline,
            hasFailover: settings.redis.servers.hasFailover)
        do throws(Revocation.RevocationError) {
            let (time, replication) = try await revocation.stopVending(to: user, disables: disables)
            Output.note(
                disables
                    ? "\(user.text) is disabled: nothing is vended from now on"
                    : "credentials that \(user.text) has are not handed out again; sessions and tokens from before "
                        + "\(Self.firstSignIn(after: time)) are refused")
            if let replication { Output.note(replication.sentence) }
            await noteUndated(user, records, settings)
            let disabled: [Event.Kind] = disables ? [.userDisabled(reason: "revoked")] : []
            var told = await UserEvents.tell(
                [.userRevoked(before: time)] + disabled, of: user, records, settings)
            let ended = await UserSharing.end(of: user, records, settings)
            if told == .success { told = ended }
            guard let upstreams else {
                let status = try printed(user, before: time, roles)
                return told == .success ? status : told
            }
            var result = told
            // The roles of some accounts may be out of reach: sessions of the others are denied all the same.
            for role in roles where await !denied(user, before: time, role, upstreams, revocation) { result = .failure }
            return result
        } catch {
            if case .records(let fault) = error { throw fault }
            return Output.fail(sentence(error, settings.vending.roles.main.nameInIAM))
        }
    }

    /// Sessions of one role are denied even where those of another cannot be.
    @LoopActor
    private static func denied(
        _ user: UserID, before time: Date, _ role: SessionRole, _ upstreams: Upstreams, _ revocation: Revocation
    ) async -> Bool {
        let name = role.nameInIAM
        let iam: IAMClient
        do {
            try await upstreams.credentials(of: role).require()
            iam = try upstreams.iam(of: role)
        } catch {
            _ = Output.fail(
                "vending is stopped, but sessions of the role \(name) from before are not denied: \(error)\n"
                    + "Try again, or apply what revoke without --apply prints")
            return false
        }
        do throws(Revocation.RevocationError) {
            let count = try await revocation.deny(
                user, before: time, role: name, iam: iam, deadline: .now + .seconds(60))
            Output.note(
                "the policy \(RevocationPolicy.name) of the role \(name) denies their older sessions (users it names: "
                    + "\(count)); AWS may take minutes to heed it everywhere")
            return true
        } catch {
            _ = Output.fail(sentence(error, name))
            return false
        }
    }

    /// Records keep whole seconds, rounded up, and the second itself counts as revoked.
    private static func firstSignIn(after time: Date) -> String { Timestamp(time.addingTimeInterval(2)).iso8601 }

    /// Tokens without a time of issue are refused altogether: the operator should know before the user does.
    @LoopActor
    private static func noteUndated(_ user: UserID, _ records: UserRecords, _ settings: Settings) async {
        let declared = settings.tokens.issuers.filter { !$0.datesTokens }.map(\.name)
        let issuers = settings.tokens.issuers.map(\.name)
        let undated = UndatedIssuers(redis: records.redis, keyPrefix: settings.redis.keyPrefix)
        let seen = (try? await undated.seen(among: issuers)) ?? []
        let names = issuers.filter { declared.contains($0) || seen.contains($0) }
        guard !names.isEmpty else { return }
        Output.note(
            "tokens of \(names.joined(separator: ", ")) have neither iat nor nbf: all that \(user.text) has from there are "
                + "refused, new ones too, until: cloakroom user set \(user.text) --accept-undated-tokens")
    }

    private static func printed(_ user: UserID, before time: Date, _ roles: [SessionRole]) throws(Revocation
        .RevocationError)
        -> ExitStatus
    {
        var policy = RevocationPolicy()
        policy.revoke(user, before: time)
        do throws(RevocationPolicy.PolicyError) {
            let names = roles.map(\.nameInIAM).joined(separator: ", ")
            let whose = roles.count == 1 ? "the role \(names)" : "each of the roles \(names)"
            Output.note("what is out lives to its end, unless \(whose) gets this inline policy, or use --apply:")
            return Output.print(try policy.text())
        } catch {
            throw .policy(error)
        }
    }

    private static func sentence(_ failure: Revocation.RevocationError, _ role: String) -> String {
        let policy = "the policy \(RevocationPolicy.name) of the role \(role)"
        return switch failure {
        case .records(let error): error.sentence ?? "\(error)"
        case .busy: "vending is stopped, but \(policy) is being written by another revocation; try again"
        case .iam(let fault) where fault.status == 0:
            "vending is stopped, but IAM does not respond (\(fault.code)); try again, or apply what revoke without "
                + "--apply prints"
        case .iam(let fault):
            "vending is stopped, but IAM says \(fault.code) (\(fault.status)): may the worker's credentials do "
                + "iam:GetRolePolicy and iam:PutRolePolicy on \(role)? Try again, or apply what revoke without --apply "
                + "prints"
        case .policy(.otherStatements):
            "vending is stopped, but \(policy) holds what this command did not write; take that out, and try again"
        case .policy(.tooMany(let count)):
            "vending is stopped, but \(policy) would be too long with \(count) users; revoke all older sessions of the "
                + "role instead (IAM console, \"Revoke active sessions\")"
        }
    }

    static let help = """
        Usage: cloakroom user revoke ID [--apply] [--keep-enabled] SETTINGS

        Stops vending to the user at once, ends all sessions and tokens from before (401, session_revoked), drops the
        credentials that workers keep, and denies what was vended before: STS cannot take credentials back, but IAM can
        deny all requests with them. Without --apply it prints the inline policy that does so; with it, the policy is
        put on the role of vending.roleARN and on each of vending.roles, retired ones too, merged with those of earlier
        revocations; those of the last 12 hours are kept.

        `user enable` lets the user in again, after a new sign-in; what is from before the revocation stays refused
        and denied, and so does what is from the time after it that a request may take: one may have been under way.
        Tokens with neither iat nor nbf are all refused; this command names the issuers that give such.

        What the user shares, and what others share with them, ends, with --keep-enabled too; the command lists it, since
        it has to be shared anew.

        Options:
          --apply         needs iam:GetRolePolicy and iam:PutRolePolicy on each role; for one with a profile, that
                          profile's credentials do it
          --keep-enabled  the user may sign in again, once the time that a request may take is over
                          (server.requestDeadlineMilliseconds), and get new credentials: for a lost device

        Exit status: 0 done, 1 failed, and the text says what was done, 2 the command line was not understood.

        Examples:
          cloakroom user revoke u_1 --apply cloakroom.json5
          cloakroom user revoke u_1 cloakroom.json5 > revocation.json
        """
}
