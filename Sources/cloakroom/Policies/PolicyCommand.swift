import CloakroomServer

/// `cloakroom policy …`
enum PolicyCommand {
    static func run(_ arguments: [String]) -> ExitStatus {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "show": return PolicyShow.run(rest)
        case "test": return PolicyTest.run(rest)
        case "--help", "-h": return Output.print(help)
        case nil, .some: return Output.usage("policy has two commands, show and test", see: "cloakroom policy --help")
        }
    }

    enum CommandError: Error, CustomStringConvertible {
        case settings(String, SettingsErrors)
        case notAUserID(String, becomes: String?)
        case noScope(String, known: [String])
        case noTier(String)
        case notCovered(tier: String, has: String, asked: String)

        var description: String {
            switch self {
            case .settings(let file, let faults): "\(file) has faults:\n\(faults)"
            case .notAUserID(let text, let other):
                "\(text) is no user id: 1 to 64 letters, digits, _ and -"
                    + (other.map { "; a token with this subject is for the user \($0)" } ?? "")
            case .noScope(let name, let known):
                "the settings have no scope \(name); give one of: \(known.joined(separator: ", "))"
            case .noTier(let name): "the settings have no tier \(name)"
            case .notCovered(let tier, let has, let asked):
                "the tier \(tier) has the scope \(has), which does not cover \(asked); such a request gets 403"
            }
        }
    }

    static func settings(_ file: String) throws(CommandError) -> Settings {
        do throws(SettingsErrors) { return try SettingsFile.load(file) } catch { throw .settings(file, error) }
    }

    static func user(_ text: String, _ settings: Settings) throws(CommandError) -> UserID {
        guard let user = UserID(text) else {
            let issuer = settings.tokens.issuers.first?.name
            throw .notAUserID(text, becomes: issuer.map { UserID(issuer: $0, subject: text).text })
        }
        return user
    }

    static func scope(_ name: String, _ settings: Settings) throws(CommandError) -> Scope {
        guard let scope = settings.vending.scopes[name] else {
            throw .noScope(name, known: settings.vending.scopes.names)
        }
        return scope
    }

    private static let help = """
        Usage: cloakroom policy show|test …

        What credentials allow, without asking AWS.

        Commands:
          show  the policy of one user, its size, and what it says in plain words
          test  put the scopes to the test with own and other users' objects

        Examples:
          cloakroom policy show --user u_1 cloakroom.json5
          cloakroom policy test cloakroom.json5
        """
}
