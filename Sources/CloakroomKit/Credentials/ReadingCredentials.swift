import CloakroomAWS

/// Vends credentials of one of the worker's scopes (`vending.scopes`), such as `read`, which has fewer rights than the user.
public struct ScopedVendor: TimekeepingVendor {
    private let client: CloakroomClient
    private let scope: String

    public init(_ client: CloakroomClient, scope: String) {
        self.client = client
        self.scope = scope
    }

    public func vendCredentials() async throws -> VendedCredentials {
        try await client.vendCredentials(scope: scope, lifetime: nil)
    }

    package var serverClock: ServerClock { client.serverClock }
}

/// Credentials for what only reads: the usual ones, or, while the worker refuses those because the user's storage is used up, some of a
/// scope that cannot write.
actor ReadingCredentials {
    /// How long the usual ones are not requested again after the worker has refused them.
    private static let pause: Duration = .seconds(60)

    private let usual: CredentialProvider
    private let readOnly: CredentialProvider
    private let runtime: RuntimeDependencies
    private var refused: (error: CloakroomError, at: ContinuousClock.Instant)?

    init(usual: CredentialProvider, readOnly: CredentialProvider, runtime: RuntimeDependencies) {
        self.usual = usual
        self.readOnly = readOnly
        self.runtime = runtime
    }

    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storageQuotaExceeded`` where the worker has no such scope for the user.
    func credentials() async throws(CloakroomError) -> VendedCredentials {
        if let refused, refused.at.duration(to: runtime.now()) < Self.pause {
            return try await credentials(after: refused.error)
        }
        do throws(CloakroomError) {
            let vended = try await usual.credentials()
            refused = nil
            return vended
        } catch {
            guard error.code == .storageQuotaExceeded else { throw error }
            refused = (error, runtime.now())
            return try await credentials(after: error)
        }
    }

    /// As both learn it from the same worker.
    nonisolated var clockOffset: Duration { get async { await usual.clockOffset } }

    private func credentials(after refusal: CloakroomError) async throws(CloakroomError) -> VendedCredentials {
        do throws(CloakroomError) { return try await readOnly.credentials() } catch {
            throw error.code == .forbidden ? refusal : error
        }
    }

    /// For a sign-out.
    func forget() async {
        refused = nil
        await readOnly.forget()
    }

    nonisolated var source: CredentialSource {
        CredentialSource { () throws(CloakroomError) in
            try await self.credentials()
        } onRejected: { [usual, readOnly] refused in
            await usual.source.onRejected(refused)
            await readOnly.source.onRejected(refused)
        }
    }
}

extension CredentialSource {
    /// - Parameter vended: those to use now.
    init(
        _ vended: @escaping @Sendable () async throws(CloakroomError) -> VendedCredentials,
        onRejected: @escaping @Sendable (Credentials) async -> Void
    ) {
        self.init(
            current: {
                do throws(CloakroomError) { return try await vended().credentials } catch {
                    // The error that the client expects.
                    if error.code == .cancelled { throw CancellationError() }
                    throw error
                }
            }, onRejected: onRejected)
    }
}
