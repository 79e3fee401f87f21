import CloakroomAWS
import Foundation

extension CredentialProvider {
    /// Runs an operation on S3, for apps that use another S3 client, and once more where other credentials, a corrected
    /// clock or a short wait help; never a third time.
    ///
    ///     let page = try await provider.withCredentials(refusal: { S3ResponseError(mine: $0) }) { credentials in
    ///         try await myClient(credentials).listObjects(prefix: "photos/")
    ///     }
    ///
    /// - Parameters:
    ///   - refusal: reads an error of the operation; `nil` for one that is not S3's response.
    ///   - operation: may sign with the time corrected by ``clockOffset``.
    /// - Throws: ``CloakroomError`` when there are no credentials; else the operation's own last error.
    public nonisolated func withCredentials<Value>(
        refusal: (any Error) -> S3ResponseError? = { $0 as? S3ResponseError },
        _ operation: (VendedCredentials) async throws -> Value
    ) async throws -> Value {
        let credentials = try await credentials()
        do {
            return try await operation(credentials)
        } catch {
            guard let refusal = refusal(error), let next = try await remedy(refusal, of: credentials) else {
                throw error
            }
            return try await operation(next)
        }
    }

    /// Handles a refusal.
    ///
    /// - Returns: the credentials for a second attempt; `nil` where that would not help.
    private func remedy(
        _ refusal: S3ResponseError, of credentials: VendedCredentials
    ) async throws(CloakroomError) -> VendedCredentials? {
        switch refusal.kind {
        case .staleCredentials:
            return try await others(than: credentials)
        case .skewedClock(let theirs, let mayBeWrongKeys):
            if let theirs, learn(theirs) { return try await self.credentials() }
            return mayBeWrongKeys ? try await others(than: credentials) : nil
        case .expiredURL:
            return try await self.credentials()
        case .throttled(let retryAfter):
            return try await wait(retryAfter, Backoff(base: .seconds(1)))
        case .transient(let retryAfter):
            return try await wait(retryAfter, Backoff())
        case .refused:
            return nil
        }
    }

    private func others(than refused: VendedCredentials) async throws(CloakroomError) -> VendedCredentials? {
        await refuse(refused)
        let others = try await credentials()
        return others == refused ? nil : others
    }

    /// A wait of more than five seconds is left to the caller.
    private func wait(
        _ retryAfter: Duration?, _ backoff: Backoff
    ) async throws(CloakroomError) -> VendedCredentials? {
        var generator = RuntimeDependencies.Generator(randomNumber: runtime.randomNumber)
        let delay = max(backoff.delay(afterAttempt: 0, using: &generator) ?? .zero, retryAfter ?? .zero)
        guard delay <= .seconds(5) else { return nil }
        do {
            try await runtime.pause(delay)
        } catch {
            throw .cancelled
        }
        return try await credentials()
    }
}
