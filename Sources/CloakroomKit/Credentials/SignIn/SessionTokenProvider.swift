package import CloakroomAWS
import CloakroomCrypto
public import Foundation

/// Signs in once and keeps the session: continued before it ends, kept over restarts, forgotten when it is revoked.
///
/// ```swift
/// let session = SessionTokenProvider(
///     endpoint: url, store: SealedFileCredentialStore(folder: folder, owner: .session(at: url)))
/// try await session.signIn(with: SignInIdentity(token: identityToken, nonce: nonce))
/// let client = CloakroomClient(endpoint: url, tokens: session)
/// ```
///
/// From half of the session's lifetime on it is continued in the background; in its last five minutes callers wait for that.
/// However many callers wait, one request is in flight. While the worker is unreachable, the session is used until it ends, by the
/// worker's clock.
public actor SessionTokenProvider: TokenProvider {
    /// Gives an identity to sign in with, again; `nil` where the user may not be asked now, as in the background.
    public typealias IdentitySource = @Sendable (SignInReason) async throws -> SignInIdentity?

    typealias TokenResult = Result<Secret, CloakroomError>

    /// What a request to the worker is for.
    enum Purpose: Sendable {
        case continuation(Session)
        case again(SignInReason)
        case signIn(SignInIdentity)
    }

    struct Flight {
        let number: Int
        var task: Task<Void, Never>?
    }

    let client: CloakroomClient
    private let credentialStore: (any CredentialStore)?
    let deviceID: String?
    let identity: IdentitySource?
    let runtime: RuntimeDependencies

    var store: StoreQueue
    private var loading: Task<Result<StoredCredentials?, CloakroomError>, Never>?
    private var hasLoaded = false
    var held: HeldSession?
    /// Whose session ended: no other user takes its place without ``signIn(with:)``.
    var endedUserID: String?
    private var state = SessionState.signedOut
    var pause = RefreshBackoff()
    var flight: Flight?
    var lastNumber = 0
    var waiting: [Int: CheckedContinuation<TokenResult, Never>] = [:]
    private var readers: [Int: AsyncStream<SessionState>.Continuation] = [:]

    /// - Parameters:
    ///   - endpoint: as for ``CloakroomClient``.
    ///   - store: of ``StoreOwner/session(at:)``; `nil` keeps the session in memory only.
    ///   - deviceID: names the device for the operator, 1 to 255 bytes.
    ///   - onStoreFailure: called when the store could not save or clear.
    ///   - identity: called when a session ended or was refused, and never after ``signOut()`` or a revocation.
    public init(
        endpoint: URL, transport: any HTTPTransport = URLSessionTransport(), store: (any CredentialStore)? = nil,
        deviceID: String? = nil, retryPolicy: RetryPolicy = RetryPolicy(),
        onStoreFailure: @escaping @Sendable (CloakroomError) -> Void = { _ in }, identity: IdentitySource? = nil
    ) {
        self.init(
            endpoint: endpoint, transport: transport, store: store, deviceID: deviceID, retryPolicy: retryPolicy,
            onStoreFailure: onStoreFailure, runtime: RuntimeDependencies(), identity: identity)
    }

    package init(
        endpoint: URL, transport: any HTTPTransport, store: (any CredentialStore)?, deviceID: String? = nil,
        retryPolicy: RetryPolicy = RetryPolicy(),
        onStoreFailure: @escaping @Sendable (CloakroomError) -> Void = { _ in }, runtime: RuntimeDependencies,
        identity: IdentitySource? = nil
    ) {
        client = CloakroomClient(
            endpoint: endpoint, tokens: ClosureTokenProvider { throw CloakroomError(.unauthorized, "Not signed in") },
            transport: transport, retryPolicy: retryPolicy, runtime: runtime)
        credentialStore = store
        self.store = StoreQueue(store, onFailure: onStoreFailure, runtime: runtime)
        self.deviceID = deviceID
        self.identity = identity
        self.runtime = runtime
    }

    deinit { for reader in readers.values { reader.finish() } }

    // MARK: For the app

    /// Signs a user in, whoever was signed in before; that session is used until this one is there, and never again.
    ///
    /// - Returns: the user's identifier with the service, once the store has the session: an identity is good for one
    ///   sign-in.
    /// - Throws: ``CloakroomError``: as ``CloakroomClient/signIn(identityToken:nonce:deviceID:)``.
    @discardableResult
    public func signIn(with identity: SignInIdentity) async throws -> String {
        try await load()
        endFlight(.failure(.cancelled))
        start(.signIn(identity))
        _ = try await awaitFlight().get()
        let store = store
        await store.idle()
        guard case .signedIn(let userID) = state else { throw CloakroomError.cancelled }
        return userID
    }

    /// Forgets the session, in memory and in the store, and cancels the request in flight; waiting callers get
    /// ``CloakroomError/Code/cancelled``. When this returns nothing is left, and nothing is sent before the next sign-in.
    ///
    /// - Throws: ``CloakroomError`` of a store that kept the session: nothing is sent by this process, and the next launch
    ///   would be signed in. Call it again, such as once the device is unlocked.
    public func signOut() async throws {
        if let error = await forget(.signedOut, .cancelled) { throw error }
    }

    /// The same for a user who withdrew the app's use of their Apple ID; of a store that keeps the session `onStoreFailure`
    /// hears.
    public func identityRevoked() async { await forget(.needsSignIn(.revoked), Self.revocation) }

    /// Apple's name of the user who is signed in, as ``SignInIdentity`` had it; `nil` without one, and while the store cannot be
    /// read.
    public func appleUser() async -> String? {
        try? await load()
        return held?.appleUser
    }

    /// The state now, and every later one.
    public func states() async -> AsyncStream<SessionState> {
        try? await load()
        let (states, continuation) = AsyncStream.makeStream(of: SessionState.self)
        lastNumber += 1
        let reader = lastNumber
        readers[reader] = continuation
        continuation.onTermination = { [weak self] _ in Task { await self?.removeReader(reader) } }
        if hasLoaded { continuation.yield(state) }
        return states
    }

    // MARK: For the client

    /// - Throws: ``CloakroomError``: `unauthorized` when nobody is signed in, `sessionRevoked` after a revocation, what the
    ///   store throws while it cannot be read, or why there is no new session.
    public func token() async throws -> String {
        try await load()
        let reading = runtime.clockReading
        if let held {
            switch held.freshness(at: reading) {
            case .fresh: return held.session.revealToken()
            case .due:
                if flight == nil, !pause.isOn(at: reading.instant) { start(.continuation(held.session)) }
                return held.session.revealToken()
            case .urgent:
                if flight == nil, pause.isOn(at: reading.instant) { return held.session.revealToken() }
                if flight == nil { start(.continuation(held.session)) }
                return try await awaitFlight().get().reveal()
            case .ended: end(held, .ended)
            }
        }
        if flight == nil {
            guard let reason = reasonToAsk else { throw Self.error(for: state) }
            if pause.isOn(at: reading.instant) { throw pause.refusal(at: reading.instant) ?? Self.error(for: state) }
            start(.again(reason))
        }
        return try await awaitFlight().get().reveal()
    }

    public func token(ofUser userID: String) async throws -> String {
        while true {
            let token = try await token()
            // Of a session that has ended meanwhile it is not known whose it was.
            guard let held, held.session.token == Secret(token) else { continue }
            guard held.session.userID == userID else {
                throw CloakroomError(.storeOwnerMismatch, "The session is that of another user")
            }
            return token
        }
    }

    public func tokenRefused(_ token: String) async {
        guard let held, held.session.token == Secret(token) else { return }
        end(held, .refused)
        _ = store.clear()
    }

    public func sessionRevoked(_ token: String) async {
        guard held?.session.token == Secret(token) else { return }
        await forget(.needsSignIn(.revoked), Self.revocation)
    }
}

// MARK: The session

extension SessionTokenProvider {
    private static let revocation = CloakroomError(.sessionRevoked, "The user's sessions were ended: sign in again")

    /// Why the source of identities may be called now.
    var reasonToAsk: SignInReason? {
        guard case .needsSignIn(let reason) = state, reason == .ended || reason == .refused else { return nil }
        return reason
    }

    private static func error(for state: SessionState) -> CloakroomError {
        state == .needsSignIn(.revoked) ? revocation : CloakroomError(.unauthorized, "Not signed in")
    }

    /// Once, for all callers. One that failed is repeated by the next call: a locked store is no sign-out.
    private func load() async throws(CloakroomError) {
        guard !hasLoaded else { return }
        let task = loading ?? Task { [credentialStore] in await Self.read(credentialStore) }
        loading = task
        let result = await task.value
        guard !hasLoaded else { return }
        loading = nil
        let stored = try result.get()
        hasLoaded = true
        let reading = runtime.clockReading
        guard let resumed = stored.flatMap({ HeldSession($0, at: reading) }) else { return }
        guard resumed.freshness(at: reading) != .ended else { return end(resumed, .ended) }
        held = resumed
        change(.signedIn(userID: resumed.session.userID))
    }

    private static func read(_ store: (any CredentialStore)?) async -> Result<StoredCredentials?, CloakroomError> {
        do { return .success(try await store?.load()) } catch {
            return .failure(
                error as? CloakroomError
                    ?? CloakroomError(.storeFailed, "The store of the session failed with a \(type(of: error))."))
        }
    }

    func end(_ session: HeldSession, _ reason: SignInReason) {
        held = nil
        endedUserID = session.session.userID
        change(.needsSignIn(reason))
    }

    /// - Returns: why the store has the session still; `nil` when it is gone.
    @discardableResult
    func forget(_ next: SessionState, _ error: CloakroomError) async -> CloakroomError? {
        hasLoaded = true
        held = nil
        endedUserID = nil
        pause = RefreshBackoff()
        endFlight(.failure(error))
        change(next)
        return await store.clear()?.end()
    }

    func change(_ next: SessionState) {
        guard next != state else { return }
        state = next
        for reader in readers.values { reader.yield(next) }
    }

    private func removeReader(_ reader: Int) { readers[reader] = nil }
}
