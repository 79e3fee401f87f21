import CloakroomOperations
import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `cloakroom policy test`
enum PolicyTest: Command {
    static let syntax = CommandSyntax(
        "policy test", "test the scopes with own and other users' objects", values: ["user": .text, "scope": .text],
        flags: ["shares"])

    static func run(_ options: Options) throws(EarlyExit) -> ExitStatus {
        let settings = try SettingsCommandLine(options).settings
        let user = try PolicyArguments.user(options.values["user"] ?? "u_1", settings)
        var scopes: [Scope] = []
        for name in options.values["scope"].map({ [$0] }) ?? settings.vending.scopes.names {
            scopes.append(try PolicyArguments.scope(name, settings))
        }
        let grants = scopes.map {
            Grant(scope: $0, lifetime: settings.vending.lifetime, tier: settings.vending.defaultTier)
        }
        return try PolicyArguments.withShares(of: user, options, settings) { shares in
            test(grants, user, shares, settings)
        }
    }

    private static func test(
        _ grants: [Grant], _ user: UserID, _ shares: UserRecord.Shares, _ settings: Settings
    ) -> ExitStatus {
        var wrong = 0
        let now = Date()
        for grant in grants {
            let grant = PolicyArguments.adding(shares, to: grant, of: user, settings, at: now)
            let simulation = PolicySimulation(
                grant, user: user, bucket: settings.bucket, partition: settings.vending.partition, at: now)
            Output.print("scope \(grant.scope.name), user \(user.text)")
            for row in simulation.rows { Output.print(line(row)) }
            wrong += simulation.rows.count { !$0.isAsExpected }
        }
        guard wrong == 0 else { return Output.fail("\(wrong) results are not as expected") }
        return .success
    }

    private static func line(_ row: PolicySimulation.Row) -> String {
        let answer = row.isAllowed ? "allow" : "deny "
        let expected = row.expected.map { $0 ? "allow" : "deny " } ?? "-    "
        let mark = row.isAsExpected ? "  " : "! "
        return "\(mark)\(answer) (expected \(expected))  \(row.action) \(row.target)  [\(row.remark)]"
    }

    static let help = """
        Usage: cloakroom policy test [--user U] [--scope S] [--shares] SETTINGS

        Asks the policies of the settings, as IAM would read them, for own and other users' objects, for lists, copies
        and the bucket itself, and prints each answer beside the one that is expected. Nothing is asked of AWS.
        Where a template of yours allows a part of a folder or sets a condition, nothing is expected of own objects.

        Options:
          --user U   the user's id; u_1
          --scope S  one scope; without it, all of the settings
          --shares   also what others share with the user, as Redis has it

        Exit status: 0 all as expected, 1 not so, 2 the command line was not understood.

        Examples:
          cloakroom policy test cloakroom.json5
          cloakroom policy test --user u_3fa85f64-4567-89ab-cdef-0123456789ab --scope upload cloakroom.json5
        """
}
