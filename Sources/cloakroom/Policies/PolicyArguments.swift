import CloakroomServer

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
}
