package import CloakroomCrypto

/// What a user signs in with: an identity token of Sign in with Apple, or of another issuer of the worker's settings.
public struct SignInIdentity: Sendable {
    package let token: Secret
    package let nonce: Secret?
    let appleUser: String?

    /// - Parameters:
    ///   - token: the JWT; from Apple, `ASAuthorizationAppleIDCredential.identityToken` as text.
    ///   - nonce: as the app made it, see ``SignInNonce``; the issuer was given its SHA-256 in hexadecimal digits.
    ///   - appleUser: from Apple, `ASAuthorizationAppleIDCredential.user`, for an ``AppleIDWatch``: kept with the session.
    public init(token: String, nonce: String? = nil, appleUser: String? = nil) {
        self.token = Secret(token)
        self.nonce = nonce.map { Secret($0) }
        self.appleUser = appleUser
    }
}

/// Why the user has to sign in again.
public enum SignInReason: Sendable, Hashable {
    /// The session ended, and could not be continued before.
    case ended
    /// The worker refused the session.
    case refused
    /// The operator ended the user's sessions, or the user withdrew the app's use of their Apple ID.
    case revoked
    /// The identity given for an ended session was another user's.
    case otherUser
}

/// Whether there is a session, and whose.
public enum SessionState: Sendable, Hashable {
    case signedOut
    case signedIn(userID: String)
    case needsSignIn(SignInReason)
}
