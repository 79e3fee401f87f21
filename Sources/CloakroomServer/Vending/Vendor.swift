package import CloakroomAWS
package import CloakroomLoop
import Synchronization

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Vends: gets a subject the credentials it was granted, from STS or from those it already has.
@LoopActor
package final class Vendor {
    private let roles: RoleClients
    private let settings: Settings.Vending
    private let requestDeadline: Duration
    private let metrics: Metrics
    private let now: @Sendable () -> Date
    private let jitter: @Sendable () -> Double
    private let cache: CredentialCache?
    private let shared: SharedCredentialCache?

    /// - Parameters:
    ///   - shared: consulted for what this process does not have; used only with the cache of the process.
    ///   - jitter: gives numbers from 0 to 1.
    package init(
        roles: RoleClients, settings: Settings.Vending, requestDeadline: Duration, metrics: Metrics,
        shared: SharedCredentialCache? = nil, now: @escaping @Sendable () -> Date = { Date() },
        jitter: @escaping @Sendable () -> Double = { Jitter.next() }
    ) {
        self.shared = shared
        self.jitter = jitter
        self.roles = roles
        self.settings = settings
        self.requestDeadline = requestDeadline
        self.metrics = metrics
        self.now = now
        cache =
            settings.credentialCache.enabled
            ? CredentialCache(capacity: settings.credentialCache.maximumEntries, now: now) : nil
    }

    /// What the subject has already, if that is fresh and was not revoked.
    ///
    /// - Parameter revokedBefore: credentials issued earlier are not handed out again.
    package func cached(for subject: Subject, _ grant: Grant, revokedBefore: Date? = nil) -> VendedSession? {
        guard let cache else { return nil }
        let key = CredentialCache.Key(user: subject.userID, grant: grant)
        guard let cached = cache.reusable(key) else { return nil }
        guard !cached.isRevoked(before: revokedBefore) else {
            cache.drop(key)
            return nil
        }
        metrics.lookedUp(.hit)
        return cached
    }

    /// What is thrown when `permit` says no, as if STS were unreachable: credentials at hand stand in for new ones.
    static let notPermitted = STSError.unavailable(retryAfter: nil, code: "NotPermitted")

    /// New ones, for a subject for whom none are ``cached(for:_:revokedBefore:)``.
    ///
    /// - Parameter permit: whether STS may be called; evaluated just before, and by none that waits for the call
    ///   of another.
    package func credentials(
        for subject: Subject, _ grant: Grant, revokedBefore: Date? = nil,
        permit: @escaping @LoopActor @Sendable () async -> Bool = { true }
    ) async throws(STSError) -> VendedSession {
        guard let cache else {
            metrics.lookedUp(.off)
            if let refusal = client(for: subject).refusal { throw refusal }
            guard await permit() else { throw Self.notPermitted }
            return try await assume(for: subject, grant, .now + requestDeadline)
        }
        let key = CredentialCache.Key(user: subject.userID, grant: grant)
        return try await fetched(key, subject, grant, revokedBefore: revokedBefore, cache, permit)
    }

    private func fetched(
        _ key: CredentialCache.Key, _ subject: Subject, _ grant: Grant, revokedBefore: Date?, _ cache: CredentialCache,
        _ permit: @escaping @LoopActor @Sendable () async -> Bool
    ) async throws(STSError) -> VendedSession {
        // For all that follows: no request waits twice as long as it may.
        let deadline = ContinuousClock.now + requestDeadline
        var (result, outcome) = await fetch(key, subject, grant, revokedBefore: revokedBefore, deadline, permit)
        if outcome != .miss, case .success(let joined) = result, joined.isRevoked(before: revokedBefore) {
            // They were on their way when they were revoked.
            cache.drop(key)
            (result, outcome) = await fetch(key, subject, grant, revokedBefore: revokedBefore, deadline, permit)
        }
        metrics.lookedUp(outcome)
        let vended = try result.get()
        // A request from before the revocation may have cached them once more: later there are none.
        guard outcome == .miss || !vended.isRevoked(before: revokedBefore) else {
            throw .unavailable(retryAfter: .seconds(1), code: "Revoked")
        }
        return vended
    }

    private func fetch(
        _ key: CredentialCache.Key, _ subject: Subject, _ grant: Grant, revokedBefore: Date?,
        _ deadline: ContinuousClock.Instant, _ permit: @escaping @LoopActor @Sendable () async -> Bool
    ) async -> CredentialCache.Outcome {
        await cache?.credentials(key) { [self] previous in
            guard let shared else { return (await assumed(for: subject, grant, deadline, permit), .miss) }
            return await shared.credentials(
                at: SharedCredentialKey(user: key.user, role: client(for: subject).role.arn, grant: grant),
                previous: previous,
                revokedBefore: revokedBefore
            ) { await assumed(for: subject, grant, deadline, permit) }
        } ?? (.failure(.cancelled), .off)
    }

    private func assumed(
        for subject: Subject, _ grant: Grant, _ deadline: ContinuousClock.Instant,
        _ permit: @LoopActor () async -> Bool
    ) async -> CredentialCache.Result {
        if let refusal = client(for: subject).refusal { return .failure(refusal) }
        guard await permit() else { return .failure(Self.notPermitted) }
        do throws(STSError) { return .success(try await assume(for: subject, grant, deadline)) } catch {
            return .failure(error)
        }
    }

    /// The user's own role: always the same.
    private func client(for subject: Subject) -> RoleClient {
        roles.clients[roles.roles.index(for: subject.userID)]
    }

    private func assume(
        for subject: Subject, _ grant: Grant, _ deadline: ContinuousClock.Instant
    ) async throws(STSError) -> VendedSession {
        let issued = now()
        let client = client(for: subject)
        let request = AssumeRole(grant, for: subject.userID, client.role, at: issued)
        let sessionName = request.sessionName
        let role: AssumedRole
        do throws(STSError) {
            role = try await client.assume(request, deadline: deadline)
            metrics.called(client.role, RoleCallLabel(nil))
        } catch {
            metrics.called(client.role, RoleCallLabel(error))
            throw error
        }
        return VendedSession(
            role: role, sessionName: sessionName, issued: issued, scope: grant.scope.name,
            scopeDigest: grant.scope.digest, jitter: jitter())
    }
}

/// Numbers that spread work over time, and are fit for nothing else: the system's generator is a system call each.
///
/// Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (SplitMix64).
enum Jitter {
    private static let state = Atomic<UInt64>(.random(in: .min ... .max))

    /// - Returns: from 0 up to, but not including, 1.
    static func next() -> Double {
        var number = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((number ^ (number >> 31)) >> 11) * 0x1p-53
    }
}
