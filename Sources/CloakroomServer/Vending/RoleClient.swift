package import CloakroomAWS
package import CloakroomLoop

/// Calls STS for one role, with that role's credentials, retries and breaker.
@LoopActor
package final class RoleClient {
    package let role: SessionRole
    package let credentials: WorkerCredentials
    package let sts: STSClient
    private var breaker: RoleBreaker?
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter isAlone: there is no other role that a breaker could protect.
    package init(
        _ role: SessionRole, credentials: WorkerCredentials, sts: STSClient, isAlone: Bool,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.role = role
        self.credentials = credentials
        self.sts = sts
        self.now = now
        breaker = isAlone ? nil : RoleBreaker()
    }

    /// `nil` where no other role needs protection.
    var breakerStatus: (state: RoleBreaker.State, failures: Int)? {
        breaker.map { ($0.state(at: now()), $0.failureCount) }
    }

    /// Why no call is made now; `nil` when one may be.
    var refusal: STSError? {
        breaker?.refusal(at: now()).map { .unavailable(retryAfter: $0, code: "RolePaused") }
    }

    /// - Parameter request: evaluated for each attempt, as in ``STSClient``.
    func assume(
        _ request: @autoclosure @Sendable () -> AssumeRole, deadline: ContinuousClock.Instant
    ) async throws(STSError) -> AssumedRole {
        try begin()
        do throws(STSError) {
            let assumed = try await sts.assumeRole(request(), deadline: deadline)
            end(with: nil)
            return assumed
        } catch {
            end(with: error)
            throw error
        }
    }

    // Not inlined, as in `Retrier`.

    @inline(never) private func begin() throws(STSError) {
        if let refusal { throw refusal }
        breaker?.starts()
    }

    @inline(never) private func end(with error: STSError?) { breaker?.ended(with: error, at: now()) }
}

/// The clients of all roles, in the order of ``SessionRoles/active``.
@LoopActor
package struct RoleClients {
    package let roles: SessionRoles
    package let clients: [RoleClient]

    package init(_ roles: SessionRoles, client: (SessionRole) -> RoleClient) {
        self.roles = roles
        clients = roles.active.map(client)
    }
}
