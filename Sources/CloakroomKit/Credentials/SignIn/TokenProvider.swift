/// Supplies the user's token for the worker; implemented by the app.
///
/// ``token()`` is called for each request, so keep the token until shortly before it expires. Concurrent requests share
/// one call.
public protocol TokenProvider: Sendable {
    /// Requests wait for it. So it waits for no run of the kit, such as ``Outbox/run()``, which may wait for the request.
    ///
    /// - Throws: anything; the request fails with ``CloakroomError/Code/tokenUnavailable``, or with what was thrown where
    ///   that is a ``CloakroomError``.
    func token() async throws -> String

    /// The same, of a user: what one user has added is never sent with the token of the next.
    ///
    /// ``Cloakroom`` calls it for its user, ``Outbox`` for its owner. Compare, even where there is one user at a time: the app's session may be the
    /// next user's while the former one's photos still wait.
    ///
    /// - Throws: besides, ``CloakroomError/Code/storeOwnerMismatch`` when another user is signed in.
    func token(ofUser userID: String) async throws -> String

    /// The server responded with 401 to this token. ``token()`` is called once more right afterwards, and should return a new
    /// one, or throw. Do nothing when the current token is another one by now.
    ///
    /// The default does nothing: right for a provider that keeps no token.
    func tokenRefused(_ token: String) async

    /// The server ended the user's sessions, this one among them: forget it, and let the user sign in again. The request
    /// fails with ``CloakroomError/Code/sessionRevoked``, and does not wait for this call; no other token is requested.
    ///
    /// The default calls ``tokenRefused(_:)``.
    func sessionRevoked(_ token: String) async
}

extension TokenProvider {
    public func sessionRevoked(_ token: String) async { await tokenRefused(token) }
    public func tokenRefused(_ token: String) async {}
}

/// How the token is sent.
public enum TokenHeader: Sendable, Hashable {
    /// `Authorization: Bearer …` (RFC 6750 §2.1).
    case bearer
    /// Alone in a field of this name, such as `X-Convos-AuthToken`.
    case named(String)

    func field(_ token: String) -> (name: String, value: String) {
        switch self {
        case .bearer: ("Authorization", "Bearer \(token)")
        case .named(let name): (name, token)
        }
    }
}

/// A closure as a provider, of one user where that matters.
struct ClosureTokenProvider: TokenProvider {
    let closure: @Sendable () async throws -> String

    func token() async throws -> String { try await closure() }
    func token(ofUser userID: String) async throws -> String { try await closure() }
}
