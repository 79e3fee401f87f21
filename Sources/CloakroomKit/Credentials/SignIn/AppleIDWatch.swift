/// What Apple says of an app's use of an Apple ID.
public enum AppleIDState: Sendable, Hashable {
    case authorized
    /// The user withdrew it.
    case revoked
    /// There is no such user: the Apple ID is not on this device, or was deleted.
    case notFound
    /// The app went to another team of developers; its backend migrates the user.
    case transferred
}

/// Where the state of Apple IDs comes from: `AppleIDProvider` on Apple's systems, a test's own elsewhere.
public protocol AppleIDStateSource: Sendable {
    /// - Parameter user: as Sign in with Apple named it, `ASAuthorizationAppleIDCredential.user`.
    /// - Throws: anything when it cannot be known now.
    func state(ofAppleUser user: String) async throws -> AppleIDState

    /// An element whenever the system says that an app's use of an Apple ID was revoked, from now on. It does not say whose.
    func revocations() async -> AsyncStream<Void>
}

/// Ends the session of a user who withdrew the app's use of their Apple ID.
///
/// ```swift
/// let watch = AppleIDWatch(source: AppleIDProvider(), tokens: tokens)
/// Task { await watch.run() }
/// ```
///
/// It asks about the user whom ``SignInIdentity`` named at the sign-in; the session has that name also after the app was
/// deleted and installed anew. A state that cannot be known, as without a network, ends nothing; a notification of the system does, unless Apple says
/// that this user's is authorized. What is unsent stays, for the same user: see <doc:SigningOut>.
public struct AppleIDWatch: Sendable {
    private let source: any AppleIDStateSource
    private let tokens: SessionTokenProvider

    public init(source: any AppleIDStateSource, tokens: SessionTokenProvider) {
        self.source = source
        self.tokens = tokens
    }

    /// Checks at once, and after each notification, until the task is cancelled.
    public func run() async {
        // Before the check, so that no notification is missed.
        let revocations = await source.revocations()
        await check()
        for await _ in revocations { await check(isNotified: true) }
    }

    /// For an app that comes to the front.
    ///
    /// - Returns: what Apple says; `nil` when no user of Apple's is signed in, or it cannot be known now.
    @discardableResult
    public func check() async -> AppleIDState? { await check(isNotified: false) }

    @discardableResult
    private func check(isNotified: Bool) async -> AppleIDState? {
        guard let user = await tokens.appleUser() else { return nil }
        let state = try? await source.state(ofAppleUser: user)
        // Another may have signed in meanwhile; a cancelled task knows nothing.
        guard await tokens.appleUser() == user, !Task.isCancelled else { return nil }
        switch state {
        case .authorized?, .transferred?: break
        case .revoked?, .notFound?: await tokens.identityRevoked()
        case nil: if isNotified { await tokens.identityRevoked() }
        }
        return state
    }
}
