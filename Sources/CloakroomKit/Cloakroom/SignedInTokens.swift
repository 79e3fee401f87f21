/// The app's tokens of one user until they sign out: all that is sent with a token, or with credentials for one, ends with them.
actor SignedInTokens: TokenProvider {
    private let provider: any TokenProvider
    private let userID: String
    private var isSignedOut = false

    init(_ provider: any TokenProvider, userID: String) {
        self.provider = provider
        self.userID = userID
    }

    func signOut() { isSignedOut = true }

    /// - Throws: ``CloakroomError/Code/tokenUnavailable`` after the sign-out: the app's next token may be another user's.
    func token() async throws -> String {
        try requireSignedIn()
        let token = try await provider.token(ofUser: userID)
        try requireSignedIn()
        return token
    }

    func token(ofUser userID: String) async throws -> String {
        guard userID == self.userID else {
            throw CloakroomError(.storeOwnerMismatch, "These are another user's tokens")
        }
        return try await token()
    }

    func tokenRefused(_ token: String) async { await provider.tokenRefused(token) }

    func sessionRevoked(_ token: String) async { await provider.sessionRevoked(token) }

    private func requireSignedIn() throws {
        if isSignedOut { throw Self.signedOut }
    }

    static let signedOut = CloakroomError(.tokenUnavailable, "The user has signed out")
}
