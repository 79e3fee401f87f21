import CloakroomAWS
import CloakroomCrypto

/// Calls the token provider, once for all concurrent requests.
///
/// A hundred requests that get a 401 lead to one new token: a request whose refused token has been replaced already
/// gets the current one.
actor CurrentToken {
    private typealias TokenResult = Result<Secret, CloakroomError>

    /// One call to the provider, and the tasks that wait for its result.
    private struct PendingRequest {
        let number: Int
        let refused: Secret?
        var waiting: [Int: CheckedContinuation<TokenResult, Never>] = [:]
    }

    private let provider: any TokenProvider
    /// The user whose tokens alone are given; `nil` for those of the session's user, whichever that is.
    private let userID: String?
    private let runtime: RuntimeDependencies
    /// The last one is the one to join.
    private var requests: [PendingRequest] = []
    /// The latest refused tokens that others took the place of, the oldest first.
    private var replaced: [Secret] = []
    private var latest: Secret?
    /// Which token the provider knows to be revoked; that of all users' requests.
    private let lastRevoked: Locked<Secret?>
    private var lastNumber = 0
    private static let maximumReplaced = 16

    init(_ provider: any TokenProvider, runtime: RuntimeDependencies) {
        self.init(provider, ofUser: nil, lastRevoked: Locked(nil), runtime)
    }

    private init(
        _ provider: any TokenProvider, ofUser userID: String?, lastRevoked: Locked<Secret?>,
        _ runtime: RuntimeDependencies
    ) {
        self.provider = provider
        self.userID = userID
        self.lastRevoked = lastRevoked
        self.runtime = runtime
    }

    /// The same provider's tokens, of one user alone.
    nonisolated func ofUser(_ userID: String) -> CurrentToken {
        CurrentToken(provider, ofUser: userID, lastRevoked: lastRevoked, runtime)
    }

    /// For a first attempt.
    func token() async throws(CloakroomError) -> Secret {
        if requests.isEmpty { requestToken(insteadOf: nil) }
        return try await result(to: requests[requests.count - 1].number).get()
    }

    /// - Parameter refused: the token that the server refused.
    /// - Returns: another one, or the same where the provider has no other; `isNew`: the provider gave it after this refusal,
    ///   else another request got it, and it may have ended since.
    func successor(of refused: Secret) async throws(CloakroomError) -> (token: Secret, isNew: Bool) {
        if let latest, latest != refused, replaced.contains(refused) { return (latest, false) }
        let pending = requests.last { $0.refused == refused }?.number ?? requestToken(insteadOf: refused)
        return (try await result(to: pending).get(), true)
    }

    /// Notifies the provider, once for each token however many requests carried it.
    ///
    /// Nothing waits for that: the app may sign the user out, which waits for the requests.
    func revoked(_ token: Secret) {
        let isKnown = lastRevoked.withLock { last in
            defer { last = token }
            return last == token
        }
        guard !isKnown else { return }
        _ = runtime.spawn { [provider] in await CurrentRuns.none { await provider.sessionRevoked(token.reveal()) } }
    }

    @discardableResult
    private func requestToken(insteadOf refused: Secret?) -> Int {
        lastNumber += 1
        let number = lastNumber
        requests.append(PendingRequest(number: number, refused: refused))
        _ = runtime.spawn {
            await CurrentRuns.none { await self.finish(number, with: self.requestedToken(insteadOf: refused)) }
        }
        return number
    }

    private func finish(_ number: Int, with result: TokenResult) {
        guard let index = requests.firstIndex(where: { $0.number == number }) else { return }
        let request = requests.remove(at: index)
        // The same token is no successor: the next refusal of it is reported again.
        if let refused = request.refused, case .success(let token) = result, token != refused {
            replaced.removeAll { $0 == refused || $0 == token }
            replaced = replaced.suffix(Self.maximumReplaced - 1) + [refused]
            latest = token
        }
        for continuation in request.waiting.values { continuation.resume(returning: result) }
    }

    /// A cancelled task stops waiting; the call continues for the others.
    private func result(to number: Int) async -> TokenResult {
        lastNumber += 1
        let waiter = lastNumber
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled, let index = requests.firstIndex(where: { $0.number == number }) else {
                    return continuation.resume(returning: .failure(.cancelled))
                }
                requests[index].waiting[waiter] = continuation
            }
        } onCancel: {
            Task { await self.leave(waiter) }
        }
    }

    private func leave(_ waiter: Int) {
        for index in requests.indices {
            requests[index].waiting.removeValue(forKey: waiter)?.resume(returning: .failure(.cancelled))
        }
    }

    private nonisolated func requestedToken(insteadOf refused: Secret?) async -> TokenResult {
        if let refused { await provider.tokenRefused(refused.reveal()) }
        do {
            let token =
                if let userID { try await provider.token(ofUser: userID) } else { try await provider.token() }
            guard Self.isToken(token) else {
                return .failure(CloakroomError(.tokenUnavailable, "The token provider gave no usable token"))
            }
            return .success(Secret(token))
        } catch let error as CloakroomError {
            return .failure(error)
        } catch is CancellationError {
            return .failure(.cancelled)
        } catch {
            // Its text is the app's, and may hold secrets.
            return .failure(CloakroomError(.tokenUnavailable, "The token provider threw \(type(of: error))"))
        }
    }

    /// Visible ASCII, so that it cannot end its header field (RFC 9110 §5.5); 8 KiB are more than servers accept.
    private static func isToken(_ text: String) -> Bool {
        (1...8192).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
