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
    static let syntax = UserCommandLine.syntax(
        "user revoke", "disable, and deny what was issued before",
        flags: ["all-sessions", "any-id", "apply", "keep-enabled"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (line, user) = try UserCommandLine.ofUser(options, makesRecord: true)
        let flags = options.flags
        guard flags.contains("apply") || !flags.contains("all-sessions") else {
            throw .usage("--all-sessions goes with --apply")
        }
        return line.withRecords { records in try await revoke(user, records, line, flags) }
    }

    @LoopActor
    private static func revoke(
        _ user: UserID, _ records: UserRecords, _ line: UserCommandLine, _ flags: Set<String>
    ) async throws -> ExitStatus {
        let settings = line.settings
        let upstreams = flags.contains("apply") ? Upstreams(of: settings) : nil
        let disables = !flags.contains("keep-enabled")
        let roles = settings.vending.roles.distinct
        let revocation = Revocation(
            records: records, requestDeadline: settings.server.requestDeadline, leeway: settings.tokens.largestLeeway,
            hasFailover: settings.redis.servers.hasFailover)
        do throws(Revocation.RevocationError) {
            let (now, isCompared) = try await revocation.currentTime(for: user)
            let isNew = await records.hasRecord(of: user) == false
            let stop = try await revocation.stopVending(to: user, disables: disables, at: now)
            Output.note(
                disables
                    ? "\(user.text) is disabled: nothing is vended from now on"
                    : "credentials that \(user.text) has are not handed out again; sessions and tokens from before "
                        + "\(Self.firstSignIn(after: stop.time)) are refused")
            if isNew { Output.note(UserCommandLine.sentence(ofNew: user)) }
            if !isCompared { Output.note(Self.sentence(ofTime: now)) }
            let replicated = UserCommandLine.note(stop.replication)
            if let error = stop.undropped { Output.note(Self.sentence(ofUndropped: error, user, settings.redis)) }
            await noteUndated(user, records, line)
            let disabled: [Event.Kind] = disables ? [.userDisabled(reason: "revoked")] : []
            let told = await UserEvents.tell(
                [.userRevoked(before: stop.time)] + disabled, of: user, records, settings)
            let ended = await UserSharing.end(of: user, records, line)
            let status = told.and(ended).and(replicated)
            guard let upstreams else { return try status.and(printed(user, before: stop.time, roles)) }
            let denials = UserDenials(
                user: user, time: stop.time, records: records, revocation: revocation, upstreams: upstreams,
                line: line, deniesAll: flags.contains("all-sessions"))
            return await denials.areMade(in: roles) ? status : .failure
        } catch {
            if case .records(let fault) = error { throw fault }
            return Output.fail(sentence(error, of: user, settings.vending.roles.main, line))
        }
    }

    /// Records keep whole seconds, rounded up, and the second itself counts as revoked.
    private static func firstSignIn(after time: Date) -> String {
        Timestamp(Date(timeIntervalSince1970: time.timeIntervalSince1970.rounded(.up) + 1)).iso8601
    }

    /// Tokens without a time of issue are refused altogether: the operator should know before the user does.
    @LoopActor
    private static func noteUndated(_ user: UserID, _ records: UserRecords, _ line: UserCommandLine) async {
        let settings = line.settings
        let declared = settings.tokens.issuers.filter { !$0.datesTokens }.map(\.name)
        let issuers = settings.tokens.issuers.map(\.name)
        let undated = UndatedIssuers(redis: records.redis, keyPrefix: settings.redis.keyPrefix)
        let seen = (try? await undated.seen(among: issuers)) ?? []
        let names = issuers.filter { declared.contains($0) || seen.contains($0) }
        guard !names.isEmpty else { return }
        Output.note(
            "tokens of \(names.joined(separator: ", ")) have neither iat nor nbf: all that \(user.text) has from there are "
                + "refused, new ones too, until: \(line.proposal(UserSet.self, user, ["--accept-undated-tokens"]))")
    }

    /// Prints a policy of this user alone: those of others are known to IAM only.
    @LoopActor
    private static func printed(
        _ user: UserID, before time: Date, _ roles: [SessionRole]
    ) throws(Revocation.RevocationError) -> ExitStatus {
        var policy = RevocationPolicy()
        policy.revoke(user, before: time)
        let text: String
        do throws(RevocationPolicy.PolicyError) { text = try policy.text() } catch { throw .policy(error) }
        let arns = roles.map(\.arn).joined(separator: ", ")
        let end = Timestamp(Revocation.end(ofSessionsBefore: time)).iso8601
        Output.note(
            "what is out lives to its end, unless \(roles.count == 1 ? "the role" : "each of the roles") \(arns) gets this "
                + "inline policy, or use --apply. Name it cloakroom-revocation-\(user.text), and not "
                + "\(RevocationPolicy.name), in the place of which it would end the denials of other users. Delete it "
                + "after \(end):")
        return Output.print(text)
    }

    static let help = """
        Usage: cloakroom user revoke ID [--apply [--all-sessions]] [--keep-enabled] SETTINGS

        Stops vending to the user at once, ends all sessions and tokens from before (401, session_revoked), drops the
        credentials that workers keep, and denies what was vended before: STS cannot take credentials back, but IAM can
        deny all requests with them. Without --apply it prints the inline policy that does so for this user alone; with
        it, the policy is put on the role of vending.roleARN and on each of vending.roles, retired ones too, merged with
        those of earlier revocations; those of the last 12 hours are kept. A role of another account than that of the
        credentials is not written to.

        What is older is told by the later of this host's clock and Redis'; nothing is done where they are more than a
        minute apart. Of several revocations of a user the latest time holds.

        `user enable` lets the user in again, after a new sign-in; what is from before the revocation stays refused
        and denied, and so does what is from a time after it: the longer of server.requestDeadlineMilliseconds, since a
        request may have been under way, and the largest leewaySeconds, since the clock of an issuer may be ahead.
        Tokens with neither iat nor nbf are all refused; this command names the issuers that give such.

        What the user shares, and what others share with them, ends, with --keep-enabled too; the command lists it, since
        it has to be shared anew.

        Options:
          --all-sessions  where the policy has no room for one more user (144 in 12 hours, of ids with a UUID, or fewer
                          where the role's other inline policies take more than 4,096 characters): denies the sessions
                          of all users from before; apps get AccessDenied until they have new credentials
          --any-id        takes an ID that no token can have, because all issuers map their subjects
          --apply         needs iam:GetRolePolicy and iam:PutRolePolicy on each role; for one with a profile, that
                          profile's credentials do it
          --issuer I      of which issuer --subject is, where there are several
          --keep-enabled  the user may sign in again, once that time is over, and get new credentials: for a lost device
          --subject S     in place of ID: the user whom an issuer's tokens call S

        Exit status: 0 done, 1 failed, and the text says what was done, 2 the command line was not understood, 3 done, but a
        failover of Redis may lose it: run it again.

        Examples:
          cloakroom user revoke u_1 --apply cloakroom.json5
          cloakroom user revoke u_1 cloakroom.json5 > revocation.json
          cloakroom user revoke --subject 001999.3f2b.1644 --issuer https://appleid.apple.com --apply cloakroom.json5
        """
}

// MARK: - Sentences

extension UserRevoke {
    static func sentence(ofTime time: Date) -> String {
        "Redis does not tell its time (it takes the right +info): this host's clock alone says what is older, and shows "
            + Timestamp(time).iso8601
    }

    static func sentence(
        ofUndropped error: UserRecordError, _ user: UserID, _ redis: Settings.Redis
    ) -> String {
        "the record of \(user.text) is changed, but credentials that workers keep in Redis are not dropped: "
            + "\(UserCommandLine.sentence(error, redis)). None is handed out again, and they expire"
    }

    static func sentence(
        _ failure: Revocation.RevocationError, of user: UserID, _ role: SessionRole, _ line: UserCommandLine
    ) -> String {
        let redis = line.settings.redis
        let policy = "the policy \(RevocationPolicy.name) of the role \(role.arn)"
        let undenied = "vending is stopped, but sessions of the role \(role.arn) from before are not denied"
        let retry = "try again, or put on the role what revoke without --apply prints"
        return switch failure {
        case .clocks(let own, let theirs):
            "nothing is changed: this host's clock shows \(Timestamp(own).iso8601) and that of Redis at \(redis.servers) "
                + "\(Timestamp(theirs).iso8601), and one that is wrong would spare sessions or refuse new ones; set it, and "
                + "run this again. Until then: \(line.proposal(UserDisable.self, user))"
        case .records(.records(let error)):
            "\(undenied): \(UserCommandLine.sentence(error, redis)); then run this again"
        case .records(let error): "\(undenied): \(error.sentence ?? "\(error)")"
        case .otherAccount(let account):
            "\(undenied): the credentials are of the account \(account), where IAM would change another role named "
                + "\(role.nameInIAM); run this with credentials of the role's account, which a role of vending.roles "
                + "names with profile, or put on the role what revoke without --apply prints"
        case .unknownAccount(let fault):
            "\(undenied): STS does not say of which account the credentials are (\(Self.words(fault))); \(retry)"
        case .busy: "vending is stopped, but \(policy) is being written by another revocation; try again"
        case .iam(let fault) where fault.status == 0:
            "vending is stopped, but IAM does not respond (\(fault.code)); \(retry)"
        case .iam(let fault):
            "vending is stopped, but IAM says \(Self.words(fault)): may the credentials do iam:GetRolePolicy and "
                + "iam:PutRolePolicy on \(role.arn)? Else \(retry)"
        case .unconfirmed(_, let fault):
            "vending is stopped, but whether \(policy) denies sessions from before is not known, since IAM's response was "
                + "lost (\(Self.words(fault))); \(retry)"
        case .noRoom(let deniesAll): "vending is stopped, but \(policy) \(Self.sentence(ofFull: role, deniesAll))"
        case .policy(.otherStatements):
            "vending is stopped, but \(policy) holds what this command did not write; take that out, and try again"
        case .policy(.tooMany(let count)):
            "vending is stopped, but \(policy) has no room for \(count) users revoked within 12 hours, in "
                + "\(RevocationPolicy.maximumLength) characters; run this again with --all-sessions, which denies the "
                + "sessions of all users from before, or put what revoke without --apply prints on the role"
        }
    }

    private static func sentence(ofFull role: SessionRole, _ deniesAll: Bool) -> String {
        let instead = deniesAll ? "" : ", or with --all-sessions, which denies the sessions of all users from before"
        let quota = RevocationPolicy.quotaOfRole
        return "has no room: the role's inline policies are full (IAM takes \(quota) characters of all together; see "
            + "aws iam list-role-policies --role-name \(role.nameInIAM)); move some that grant, such as shared-folders, "
            + "to managed policies of the role, and run this again\(instead)"
    }

    static func words(_ fault: AWSError) -> String {
        fault.status == 0 ? fault.code : "\(fault.code), \(fault.status)"
    }
}
