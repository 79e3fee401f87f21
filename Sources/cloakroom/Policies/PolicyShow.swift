import CloakroomOperations
import CloakroomServer
import CloakroomJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom policy show`
enum PolicyShow: Command {
    static let syntax = CommandSyntax(
        "policy show", "the policy of one user, its size, and what it says in plain words",
        values: ["user": .text, "tier": .text, "scope": .text], flags: ["json", "shares"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let (file, user) = try options.settingsFileAndUser()
        let settings = try SettingsFile.require(file)
        let id = try PolicyArguments.user(user, settings)
        let grant = try grant(tier: options.values["tier"], scope: options.values["scope"], settings)
        let isJSON = options.flags.contains("json")
        return try PolicyArguments.withShares(of: id, options, settings) { shares in
            let now = Date()
            let grant = PolicyArguments.adding(shares, to: grant, of: id, settings, at: now)
            return Output.print(isJSON ? json(grant, id, now) : text(grant, id, settings, now))
        }
    }

    /// As the service would respond to a request for the scope.
    private static func grant(
        tier: String?, scope: String?, _ settings: Settings
    ) throws(EarlyExit) -> Grant {
        let name = tier ?? settings.vending.defaultTier
        guard let terms = Tiers(settings)[name] else { throw .failure("the settings have no tier \(name)") }
        guard let scope else { return Grant(scope: terms.scope, lifetime: terms.lifetime, tier: name) }
        let asked = try PolicyArguments.scope(scope, settings)
        // Without a tier any scope can be looked at.
        guard tier == nil || settings.vending.scopes.covers(terms.scope, asked) else {
            throw .failure(
                "the tier \(name) has the scope \(terms.scope.name), which does not cover \(scope); "
                    + "such a request gets 403")
        }
        return Grant(scope: asked, lifetime: terms.lifetime, tier: name)
    }

    private static func text(_ grant: Grant, _ user: UserID, _ settings: Settings, _ now: Date) -> String {
        let policy = PolicyArguments.policy(grant, user, at: now)
        let json = try? JSON(parsing: Array(policy.utf8))
        let may = PolicyDescription(grant, user: user).lines.map { "  \($0)" }
        let lines =
            [
                json?.indented ?? policy, "",
                "scope \(grant.scope.name), digest \(grant.scope.digest), tier \(grant.tier), "
                    + "at most \(grant.lifetime.components.seconds) seconds",
                "\(policy.utf8.count) characters of \(SessionPolicy.maximumLength);"
                    + " packed with the session's tags about \(grant.packedSize(for: user).percent) % of what STS takes,"
                    + " by estimate",
                "", "In the bucket \(settings.bucket), \(user.text) may, as far as the role may:",
            ] + may + ["and nothing else."]
        return lines.joined(separator: "\n")
    }

    private static func json(_ grant: Grant, _ user: UserID, _ now: Date) -> String {
        let policy = PolicyArguments.policy(grant, user, at: now)
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in [
            ("user", JSON.string(user.text)), ("tier", .string(grant.tier)), ("scope", .string(grant.scope.name)),
            ("digest", .string(grant.scope.digest)),
            ("lifetimeSeconds", .number(Double(grant.lifetime.components.seconds))),
            ("policy", (try? JSON(parsing: Array(policy.utf8))) ?? .null),
            ("characters", .number(Double(policy.utf8.count))),
            ("packedPercent", .number(Double(grant.packedSize(for: user).percent))),
            ("may", .array(PolicyDescription(grant, user: user).lines.map(JSON.string))),
        ] {
            writer.name(name)
            writer.value(value)
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    static let help = """
        Usage: cloakroom policy show --user U [--tier T] [--scope S] [--shares] [--json] SETTINGS

        Prints the session policy that a user's credentials are made with, its size, and in plain words what it allows.
        The size when packed is an estimate: STS does not say how it packs.

        Options:
          --user U   the user's id
          --tier T   the user's tier; without it, vending.defaultTier
          --scope S  the scope that the request asks for; without it, the tier's
          --shares   also what others share with the user, as Redis has it
          --json     one JSON object, for programs

        Exit status: 0 printed, 1 no such user, tier or scope, 2 the command line was not understood.

        Examples:
          cloakroom policy show --user u_1 cloakroom.json5
          cloakroom policy show --user u_1 --tier pro --scope read cloakroom.json5
          cloakroom policy show --user u_1 --json cloakroom.json5 | jq .policy
        """
}
