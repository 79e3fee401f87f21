import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the commands about policies take, as the settings know it.
enum PolicyArguments {
    static func user(_ text: String, _ settings: Settings) throws(EarlyExit) -> UserID {
        guard let user = UserID(text) else {
            let other = settings.tokens.issuers.first.map { UserID(issuer: $0.name, subject: text).text }
            throw .failure(
                "\(text) is no user id: 1 to 64 letters, digits, _ and -"
                    + (other.map { "; a token with this subject is for the user \($0)" } ?? ""))
        }
        return user
    }

    static func scope(_ name: String, _ settings: Settings) throws(EarlyExit) -> Scope {
        guard let scope = settings.vending.scopes[name] else {
            let known = settings.vending.scopes.names.joined(separator: ", ")
            throw .failure("the settings have no scope \(name); give one of: \(known)")
        }
        return scope
    }

    /// With `--shares`, what Redis has of what others share with a user; without it nothing.
    static func withShares(
        of user: UserID, _ options: Options, _ settings: Settings,
        _ body: @escaping @Sendable (UserRecord.Shares) throws -> ExitStatus
    ) throws(EarlyExit) -> ExitStatus {
        guard options.flags.contains("shares") else {
            do { return try body(UserRecord.Shares()) } catch { throw .failure("\(error)") }
        }
        guard settings.vending.sharing else {
            throw .failure("vending.sharing is false in the settings: nothing is shared")
        }
        return UserCommandLine(settings: settings, file: try options.settingsFile()).withRecords { records in
            try body(try await records.shares(with: user).shares)
        }
    }

    /// The grant with as much of what is shared as a session of it gets; tells of the rest.
    static func adding(
        _ shares: UserRecord.Shares, to grant: Grant, of user: UserID, _ settings: Settings, at now: Date
    ) -> Grant {
        guard !shares.isEmpty else { return grant }
        var grant = grant
        let (shared, omitted) = SharingRules(settings).sessionShares(shares.folders, of: user, grant, at: now)
        grant.shared = shared
        for (folder, why) in omitted {
            Output.note(
                "scope \(grant.scope.name) leaves out \(folder.prefix) of \(folder.owner.text): \(why.rawValue)")
        }
        return grant
    }

    /// The session policy with what each request fills in left open, unless something is shared.
    static func policy(_ grant: Grant, _ user: UserID, at now: Date) -> String {
        grant.shared.isEmpty ? grant.scope.policy.text(for: user) : grant.policyText(for: user, at: now)
    }
}
