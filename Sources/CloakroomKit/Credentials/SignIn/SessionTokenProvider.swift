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

    private typealias TokenResult = Result<Secret, CloakroomError>

    /// What a request to the worker is for.
    private enum Purpose: Sendable {
        case continuation(Session)
        case again(SignInReason)
        case signIn(SignInIdentity)
    }

    private struct Flight {
        let number: Int
        var task: Task<Void, Never>?
    }

    private let client: CloakroomClient
    private let credentialStore: (any CredentialStore)?
    private let deviceID: String?
    private let identity: IdentitySource?
    private let runtime: RuntimeDependencies

    private var store: StoreQueue
    private var loading: Task<Result<StoredCredentials?, CloakroomError>, Never>?
    private var hasLoaded = false
    private var held: HeldSession?
    /// Whose session ended: no other user takes its place without ``signIn(with:)``.
    private var endedUserID: String?
    private var state = SessionState.signedOut
    private var pause = RefreshBackoff()
    private var flight: Flight?
    private var lastNumber = 0
    private var waiting: [Int: CheckedContinuation<TokenResult, Never>] = [:]
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
    /// - Returns: the user's identifier with the service.
    /// - Throws: ``CloakroomError``: as ``CloakroomClient/signIn(identityToken:nonce:deviceID:)``.
    @discardableResult
    public func signIn(with identity: SignInIdentity) async throws -> String {
        try await load()
        endFlight(.failure(.cancelled))
        start(.signIn(identity))
        _ = try await awaitFlight().get()
        guard case .signedIn(let userID) = state else { throw CloakroomError.cancelled }
        return userID
    }

    /// Forgets the session, in memory and in the store, and cancels the request in flight; waiting callers get
    /// ``CloakroomError/Code/cancelled``. When this returns nothing is left, and nothing is sent before the next sign-in.
    public func signOut() async { await forget(.signedOut, .cancelled) }

    /// The same for a user who withdrew the app's use of their Apple ID.
    public func identityRevoked() async { await forget(.needsSignIn(.revoked), Self.revocation) }

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

// MARK: Requests

extension SessionTokenProvider {
    private func start(_ purpose: Purpose) {
        lastNumber += 1
        let number = lastNumber
        flight = Flight(number: number)
        flight?.task = runtime.spawn { await self.run(number, purpose) }
    }

    private func run(_ number: Int, _ purpose: Purpose) async {
        guard flight?.number == number else { return }
        do throws(CloakroomError) {
            guard let session = try await session(for: purpose, number) else { return }
            let time = await client.serverClock.time
            guard flight?.number == number else { return }
            try accept(session, for: purpose, time)
            endFlight(.success(session.token))
        } catch {
            guard flight?.number == number else { return }
            await fail(error, purpose)
        }
    }

    /// - Returns: `nil` when the session is no longer wanted.
    private func session(for purpose: Purpose, _ number: Int) async throws(CloakroomError) -> Session? {
        do {
            switch purpose {
            case .continuation(let session): return try await client.continueSession(session, deviceID: deviceID)
            case .signIn(let identity): return try await signIn(identity)
            case .again(let reason):
                guard let identity = try await identity?(reason) else {
                    throw CloakroomError(.unauthorized, "The session ended: sign in again")
                }
                // The user may have signed out while being asked.
                guard flight?.number == number else { return nil }
                return try await signIn(identity)
            }
        } catch let error as CloakroomError {
            throw error
        } catch is CancellationError {
            throw .cancelled
        } catch {
            // Its text is the app's, and may hold secrets.
            throw CloakroomError(.tokenUnavailable, "The source of identities threw \(type(of: error))")
        }
    }

    private func signIn(_ identity: SignInIdentity) async throws -> Session {
        try await client.signIn(
            identityToken: identity.token.reveal(), nonce: identity.nonce?.reveal(), deviceID: deviceID)
    }

    private func accept(_ session: Session, for purpose: Purpose, _ time: ServerTime?) throws(CloakroomError) {
        switch purpose {
        case .signIn: break
        case .continuation(let earlier):
            guard session.userID == earlier.userID else {
                throw CloakroomError(.invalidResponse, "The session was continued as another user's")
            }
        case .again:
            guard endedUserID == nil || session.userID == endedUserID else {
                change(.needsSignIn(.otherUser))
                throw CloakroomError(.unauthorized, "Another user signed in: call signIn(with:) to change users")
            }
        }
        let reading = runtime.clockReading
        let now = time?.time(at: reading) ?? reading.wallClock
        let next = HeldSession(session: session, received: now, serverTime: ServerTime(now, at: reading))
        guard next.freshness(at: reading) != .ended else {
            throw CloakroomError(.invalidResponse, "The session had ended already when it came")
        }
        held = next
        endedUserID = nil
        pause.begin(afterSuccessAt: reading.instant)
        store.save { try next.stored() }
        change(.signedIn(userID: session.userID))
    }

    private func fail(_ error: CloakroomError, _ purpose: Purpose) async {
        if case .continuation = purpose, error.code == .sessionRevoked {
            return await forget(.needsSignIn(.revoked), error)
        }
        let reading = runtime.clockReading
        // A sign-in of the app's own says nothing about the session that is held.
        if case .signIn = purpose { return endFlight(.failure(error)) }
        var generator = RuntimeDependencies.Generator(randomNumber: runtime.randomNumber)
        pause.begin(after: error, at: reading.instant, using: &generator)
        if let held, held.freshness(at: reading) != .ended { return endFlight(.success(held.session.token)) }
        if let held { end(held, .ended) }
        if case .continuation = purpose, let reason = reasonToAsk, identity != nil { return start(.again(reason)) }
        endFlight(.failure(error))
    }

    /// A cancelled task stops waiting; the request continues for the others.
    private func awaitFlight() async -> TokenResult {
        lastNumber += 1
        let number = lastNumber
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled, flight != nil else {
                    return continuation.resume(returning: .failure(.cancelled))
                }
                waiting[number] = continuation
            }
        } onCancel: {
            Task { await self.leave(number) }
        }
    }

    private func leave(_ number: Int) { waiting.removeValue(forKey: number)?.resume(returning: .failure(.cancelled)) }

    private func endFlight(_ result: TokenResult) {
        flight?.task?.cancel()
        flight = nil
        for continuation in waiting.values { continuation.resume(returning: result) }
        waiting = [:]
    }
}

// MARK: The session

extension SessionTokenProvider {
    private static let revocation = CloakroomError(.sessionRevoked, "The user's sessions were ended: sign in again")

    /// Why the source of identities may be called now.
    private var reasonToAsk: SignInReason? {
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

    private func end(_ session: HeldSession, _ reason: SignInReason) {
        held = nil
        endedUserID = session.session.userID
        change(.needsSignIn(reason))
    }

    private func forget(_ next: SessionState, _ error: CloakroomError) async {
        hasLoaded = true
        held = nil
        endedUserID = nil
        pause = RefreshBackoff()
        endFlight(.failure(error))
        change(next)
        await store.clear()?.value
    }

    private func change(_ next: SessionState) {
        guard next != state else { return }
        state = next
        for reader in readers.values { reader.yield(next) }
    }

    private func removeReader(_ reader: Int) { readers[reader] = nil }
}
