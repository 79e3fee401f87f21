/// The app's tokens until the user signs out: all that is sent with a token, or with credentials for one, ends with them.
actor SignedInTokens: TokenProvider {
    private let provider: any TokenProvider
    private var isSignedOut = false

    init(_ provider: any TokenProvider) { self.provider = provider }

    func signOut() { isSignedOut = true }

    /// - Throws: ``CloakroomError/Code/tokenUnavailable`` after the sign-out: the app's next token may be another user's.
    func token() async throws -> String {
        try requireSignedIn()
        let token = try await provider.token()
        try requireSignedIn()
        return token
    }

    func tokenRefused(_ token: String) async { await provider.tokenRefused(token) }

    func sessionRevoked(_ token: String) async { await provider.sessionRevoked(token) }

    private func requireSignedIn() throws {
        if isSignedOut { throw CloakroomError(.tokenUnavailable, "The user has signed out") }
    }
}
