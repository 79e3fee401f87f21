import CloakroomCrypto

/// Ties an identity token to the one sign-in that it was requested for: one for each request.
///
/// ```swift
/// let nonce = SignInNonce()
/// request.nonce = nonce.digest
/// // …
/// try await tokens.signIn(with: SignInIdentity(token: identityToken, nonce: nonce.reveal()))
/// ```
public struct SignInNonce: Sendable {
    private let secret = Secret(Base64URL.encode(randomBytes(32)))

    /// 32 random bytes.
    public init() {}

    /// For ``SignInIdentity``: 43 characters of base64url.
    public func reveal() -> String { secret.reveal() }

    /// For the request to the issuer, such as `ASAuthorizationOpenIDRequest.nonce`: SHA-256 of the characters, in 64 hexadecimal
    /// digits.
    public var digest: String { SHA256.hash(Array(secret.reveal().utf8)).hexadecimal }
}
