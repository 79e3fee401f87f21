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
    private let metrics: Metrics
    private let now: @Sendable () -> Date
    private let jitter: @Sendable () -> Double
    private let cache: CredentialCache?
    private let shared: SharedCredentialCache?
    private var windowClock = WindowClock()

    /// Called when AWS' clock is found to be ahead of ours by so many seconds, 0 where they agree again.
    package var onClockDifference: (@LoopActor (Double) -> Void)?
    /// Called when two sessions in a row told times that do not fit ours: windows cannot be made.
    package var onUnsteadyClock: (@LoopActor () -> Void)?

    /// - Parameters:
    ///   - shared: consulted for what this process does not have; used only with the cache of the process.
    ///   - jitter: gives numbers from 0 to 1.
    package init(
        roles: RoleClients, settings: Settings.Vending, metrics: Metrics,
        shared: SharedCredentialCache? = nil, now: @escaping @Sendable () -> Date = { Date() },
        jitter: @escaping @Sendable () -> Double = { Jitter.next() }
    ) {
        self.shared = shared
        self.jitter = jitter
        self.roles = roles
        self.settings = settings
        self.metrics = metrics
        self.now = now
        cache =
            settings.credentialCache.enabled
            ? CredentialCache(capacity: settings.credentialCache.maximumEntries, now: now) : nil
    }

    /// How many credentials are held, and how many calls for more are under way; `nil` without a cache.
    var cacheStatus: (held: Int, calls: Int)? { cache.map { ($0.count, $0.callCount) } }

    /// What the subject has already, if that is fresh and was not revoked.
    ///
    /// - Parameter revokedBefore: credentials issued earlier are not handed out again.
    package func cached(for subject: Subject, _ grant: Grant, revokedBefore: Date? = nil) -> VendedSession? {
        guard let cache, !grant.isForOneRequest else { return nil }
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

    /// New ones, where none are ``cached(for:_:revokedBefore:)``.
    package func credentials(_ vend: Vend) async -> Result<VendedSession, STSError> {
        if cache != nil, !vend.grant.isForOneRequest { return await fetched(vend) }
        metrics.lookedUp(.off)
        if vend.grant.scope.policy.window != nil { return await assumedInWindow(vend) }
        return await assumed(vend)
    }

    /// What is returned where windows cannot be made.
    static let unsteadyClock = STSError.unavailable(retryAfter: .seconds(1), code: "UnsteadyClock")

    /// For a policy whose window AWS ends by its own clock. Where STS tells another time than the window was made by, nothing
    /// is handed out and one more session is requested, by that time.
    @inline(never) private func assumedInWindow(_ vend: Vend) async -> CredentialCache.Result {
        let sts = client(for: vend.subject).sts
        for _ in 0..<2 {
            let used = windowClock.difference
            let result = await assumed(vend, by: used)
            guard case .success = result, let told = await sts.clockDifference else { return result }
            if let seconds = windowClock.note(told) { onClockDifference?(seconds) }
            guard told.differs(from: used, by: WindowClock.tolerance) else { return result }
        }
        onUnsteadyClock?()
        return .failure(Self.unsteadyClock)
    }

    @inline(never) private func fetched(_ vend: Vend) async -> CredentialCache.Result {
        let key = CredentialCache.Key(user: vend.subject.userID, grant: vend.grant)
        var fetched = await fetch(key, vend)
        if dropsRevoked(fetched, key, before: vend.revokedBefore) { fetched = await fetch(key, vend) }
        return checked(fetched, revokedBefore: vend.revokedBefore)
    }

    // Not inlined, as in `Retrier`.

    /// Whether another caller's were on their way when they were revoked.
    @inline(never) private func dropsRevoked(
        _ fetched: CredentialCache.Outcome, _ key: CredentialCache.Key, before revocation: Date?
    ) -> Bool {
        guard fetched.outcome != .miss, case .success(let joined) = fetched.result,
            joined.isRevoked(before: revocation)
        else { return false }
        cache?.drop(key)
        return true
    }

    @inline(never) private func checked(
        _ fetched: CredentialCache.Outcome, revokedBefore: Date?
    ) -> Result<VendedSession, STSError> {
        metrics.lookedUp(fetched.outcome)
        // A request from before the revocation may have cached them once more: later there are none.
        guard case .success(let vended) = fetched.result, fetched.outcome != .miss,
            vended.isRevoked(before: revokedBefore)
        else { return fetched.result }
        return .failure(.unavailable(retryAfter: .seconds(1), code: "Revoked"))
    }

    private func fetch(_ key: CredentialCache.Key, _ vend: Vend) async -> CredentialCache.Outcome {
        await cache?.credentials(key) { [self] previous in
            guard let shared else { return (await assumed(vend), .miss) }
            return await shared.credentials(
                at: SharedCredentialKey(user: key.user, role: client(for: vend.subject).role.arn, grant: vend.grant),
                previous: previous,
                revokedBefore: vend.revokedBefore
            ) { await assumed(vend) }
        } ?? (.failure(.cancelled), .off)
    }

    /// - Parameter difference: of AWS' clock, for the window of a policy.
    @inline(never) private func assumed(
        _ vend: Vend, by difference: ClockDifference = .zero
    ) async -> CredentialCache.Result {
        let client = client(for: vend.subject)
        if let refusal = client.refusal { return .failure(refusal) }
        guard await vend.permit() else { return .failure(Self.notPermitted) }
        let issued = now()
        let windowStart = WindowClock.time(at: issued, by: difference)
        do throws(STSError) {
            let assumed = try await client.assume(
                AssumeRole(vend.grant, for: vend.subject.userID, client.role, at: issued, windowStart: windowStart),
                deadline: vend.deadline)
            return vended(assumed, client, vend, issued, windowStart: windowStart)
        } catch {
            return failed(error, client, vend)
        }
    }

    /// The user's own role: always the same.
    private func client(for subject: Subject) -> RoleClient {
        roles.clients[roles.roles.index(for: subject.userID)]
    }

    @inline(never) private func vended(
        _ assumed: AssumedRole, _ client: RoleClient, _ vend: Vend, _ issued: Date, windowStart: Date
    ) -> CredentialCache.Result {
        vend.settle(true)
        metrics.called(client.role, RoleCallLabel(nil))
        let grant = vend.grant
        return .success(
            VendedSession(
                role: assumed.ending(by: grant.end(of: assumed.expiration, windowStart: windowStart)),
                sessionName: SessionName.make(userID: vend.subject.userID.text, at: issued), issued: issued,
                scope: grant.scope.name, scopeDigest: grant.scope.digest, jitter: jitter()))
    }

    /// An outage of STS takes none of what a user may vend; requests without a result count in `vendAll` all the same.
    @inline(never) private func failed(
        _ error: STSError, _ client: RoleClient, _ vend: Vend
    ) -> CredentialCache.Result {
        switch error {
        case .unavailable, .cancelled: vend.settle(false)
        case .refused, .unusable: vend.settle(true)
        }
        metrics.called(client.role, RoleCallLabel(error))
        return .failure(error)
    }
}

/// What credentials are vended for.
///
/// An object: while STS is waited for, thousands of times at once, each function in which a request waits holds a reference
/// in place of all this.
package final class Vend: Sendable {
    let subject: Subject
    let grant: Grant
    let revokedBefore: Date?
    let deadline: ContinuousClock.Instant
    let permit: @LoopActor @Sendable () async -> Bool
    let settle: @LoopActor @Sendable (Bool) -> Void

    /// - Parameters:
    ///   - revokedBefore: credentials issued earlier are not handed out again.
    ///   - deadline: that of the request, for all that follows: none waits twice as long as it may, and a revocation counts
    ///     on that.
    ///   - permit: whether STS may be called; evaluated just before, and by none that waits for the call of another.
    ///   - settle: is told, once a call that was permitted has ended, whether it counts.
    package init(
        for subject: Subject, _ grant: Grant, revokedBefore: Date?, deadline: ContinuousClock.Instant,
        permit: @escaping @LoopActor @Sendable () async -> Bool,
        settle: @escaping @LoopActor @Sendable (Bool) -> Void
    ) {
        self.subject = subject
        self.grant = grant
        self.revokedBefore = revokedBefore
        self.deadline = deadline
        self.permit = permit
        self.settle = settle
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
