import CloakroomAWS
import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What this process has vended, by subject and grant: a thousand devices of one user cost one call of STS.
@LoopActor
final class CredentialCache {
    struct Key: Hashable, Sendable {
        let user: UserID
        /// Scope, lifetime, tier, what is shared. ``Scope/identity`` stands for the scope where keys leave the process.
        let grant: Grant

        /// A user has few scopes and tiers: telling those apart is left to `==`. Lifetimes the user chooses, of thousands.
        func hash(into hasher: inout Hasher) {
            hasher.combine(user)
            hasher.combine(grant.lifetime)
        }
    }

    typealias Result = Swift.Result<VendedSession, STSError>
    typealias Outcome = (result: Result, outcome: CacheLabel)

    /// How long STS is not called again for what it refused, or could not give while others stand in.
    static let pause: TimeInterval = 3
    private static let maximumPauses = 4096
    /// How long anybody waits for new ones who could have those that are held.
    private let waitLimit: Duration

    private struct Pause {
        let end: Date
        /// `nil`: those that are held stand in.
        let refusal: STSError?
    }

    private let now: @Sendable () -> Date
    private var held: GenerationalCache<Key, VendedSession>
    private var calls: [Key: Task<Outcome, Never>] = [:]
    private var pauses: [Key: Pause] = [:]

    init(capacity: Int, waitLimit: Duration = .seconds(1), now: @escaping @Sendable () -> Date) {
        held = GenerationalCache(capacity: capacity)
        self.waitLimit = waitLimit
        self.now = now
    }

    var count: Int { held.count }
    /// Calls of STS that have not ended.
    var callCount: Int { calls.count }

    /// What is held and may still be handed out.
    func reusable(_ key: Key) -> VendedSession? {
        held.value(for: key) { $0.isReusable(at: now()) }
    }

    /// - Parameter fetch: called by the first caller, with what could stand in; the others wait for it. What it gives
    ///   is kept if it is fresh; a refusal for ``pause`` seconds; that STS was unreachable is not kept.
    func credentials(
        _ key: Key, fetch: @escaping @LoopActor @Sendable (VendedSession?) async -> Outcome
    ) async -> Outcome {
        if calls[key] == nil, let cached = reusable(key) { return (.success(cached), .hit) }
        let previous = held.peek(key).flatMap { $0.mayStandIn(at: now()) ? $0 : nil }
        if let call = calls[key] {
            let awaited = await awaitOutcome(of: call, previous)
            return awaited.outcome == .previous ? awaited : (awaited.result, .joined)
        }
        if let paused = paused(key, previous) { return paused }
        let call = LoopActor.spawn { [self] in
            let fetched = await fetch(previous)
            // Before anybody learns of it: who finds the result revoked must not join the same call again.
            calls[key] = nil
            return settled(key, fetched, previous)
        }
        calls[key] = call
        return await awaitOutcome(of: call, previous)
    }

    /// What the call brings, or what is held when that takes longer than anybody should wait who has something. The
    /// call goes on, and what it brings is kept.
    private func awaitOutcome(of call: Task<Outcome, Never>, _ previous: VendedSession?) async -> Outcome {
        guard let previous else { return await call.value }
        return await withCheckedContinuation { continuation in
            var waiting: CheckedContinuation<Outcome, Never>? = continuation
            @LoopActor func resume(_ outcome: Outcome) {
                waiting?.resume(returning: outcome)
                waiting = nil
            }
            let timer = EventPoller.shared.schedule(after: waitLimit) { resume((.success(previous), .previous)) }
            LoopActor.spawn {
                resume(await call.value)
                EventPoller.shared.cancel(timer)
            }
        }
    }

    private func settled(_ key: Key, _ fetched: Outcome, _ previous: VendedSession?) -> Outcome {
        switch fetched.result {
        case .success(let vended):
            pauses[key] = nil
            held.insert(vended, for: key)
            // Another worker's stand in like our own: they are past being fresh, and STS is not called for a while.
            if fetched.outcome == .previous { pause(key, nil) }
            return fetched
        case .failure(.refused):
            if case .failure(let refusal) = fetched.result { pause(key, refusal) }
            return fetched
        case .failure(.unavailable):
            // What the user could have had a moment ago is better than nothing while STS is unreachable.
            guard let previous, previous.mayStandIn(at: now()) else { return fetched }
            pause(key, nil)
            return (.success(previous), .previous)
        case .failure(.unusable), .failure(.cancelled):
            return fetched
        }
    }

    private func paused(_ key: Key, _ previous: VendedSession?) -> Outcome? {
        guard let pause = pauses[key], pause.end > now() else { return nil }
        if let refusal = pause.refusal { return (.failure(refusal), .refused) }
        return previous.map { (.success($0), .previous) }
    }

    private func pause(_ key: Key, _ refusal: STSError?) {
        if pauses.count >= Self.maximumPauses {
            let time = now()
            pauses = pauses.filter { $0.value.end > time }
            if pauses.count >= Self.maximumPauses { pauses = [:] }
        }
        pauses[key] = Pause(end: now().addingTimeInterval(Self.pause), refusal: refusal)
    }

    /// Forgets what is held; what is on its way comes all the same.
    func drop(_ key: Key) { held.remove(key) }
}
