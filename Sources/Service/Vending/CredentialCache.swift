import AWS
import Loop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What this process has vended, by subject and grant: a thousand devices of one user cost one call of STS.
///
/// Two generations of half the capacity, as for verified tokens: nothing is searched for a victim.
@LoopActor
final class CredentialCache {
    struct Key: Hashable, Sendable {
        let user: UserID
        /// Scope, lifetime and tier. ``Scope/identity`` stands for the scope where keys leave the process.
        let grant: Grant
    }

    typealias Result = Swift.Result<VendedCredentials, STSError>

    private let generationSize: Int
    private let now: @Sendable () -> Date
    private var young: [Key: VendedCredentials] = [:]
    private var old: [Key: VendedCredentials] = [:]
    private var flights: [Key: Task<Result, Never>] = [:]

    init(capacity: Int, now: @escaping @Sendable () -> Date) {
        generationSize = max(1, capacity / 2)
        self.now = now
    }

    /// What is held and may still be handed out.
    func fresh(_ key: Key) -> VendedCredentials? {
        if let known = young[key] { return known.isFresh(at: now()) ? known : nil }
        guard let known = old[key], known.isFresh(at: now()) else { return nil }
        insert(known, key)
        return known
    }

    /// - Parameter fetch: called by the first who asks; the others wait for it. A failure is kept for nobody.
    func credentials(
        _ key: Key, fetch: @escaping @LoopActor @Sendable () async -> Result
    ) async -> (Result, Metrics.CacheOutcome) {
        if let flight = flights[key] { return (await flight.value, .joined) }
        if let known = fresh(key) { return (.success(known), .hit) }
        let known = young[key] ?? old[key]
        let flight = LoopActor.spawn { [self] in
            let result = await fetch()
            // Before anybody learns of it: who finds the result revoked must not join the same flight again.
            flights[key] = nil
            if case .success(let vended) = result { insert(vended, key) }
            return result
        }
        flights[key] = flight
        let result = await flight.value
        switch result {
        case .success:
            return (result, .miss)
        case .failure(.unavailable):
            // What the user could have had a moment ago is better than nothing while STS is away.
            if let known, known.role.expiration > now().addingTimeInterval(60) { return (.success(known), .hit) }
            return (result, .miss)
        case .failure:
            return (result, .miss)
        }
    }

    /// Forgets what is held; what is on its way comes all the same.
    func drop(_ key: Key) {
        young[key] = nil
        old[key] = nil
    }

    private func insert(_ vended: VendedCredentials, _ key: Key) {
        if young.count >= generationSize {
            old = young
            young = [:]
        }
        young[key] = vended
    }
}
