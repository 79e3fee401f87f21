import Loop
import Redis

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Whether one request may be served: what is left of the device's limit, and what the user is entitled to.
struct Admission: Sendable {
    let decision: LimitDecision
    /// The limits that were applied.
    let terms: LimitTerms
    let entitlement: Result<Entitlement, Entitlement.Refusal>
}

/// Counts a request and reads its user's record, both in one round trip to Redis.
@LoopActor
final class Admissions {
    private let limiter: RateLimiter
    private let tiers: Tiers
    private let settings: Settings.Entitlements
    private let now: @Sendable () -> Date

    init(limiter: RateLimiter, tiers: Tiers, settings: Settings.Entitlements, now: @escaping @Sendable () -> Date) {
        self.limiter = limiter
        self.tiers = tiers
        self.settings = settings
        self.now = now
    }

    /// - Parameter completion: called once; before this returns if Redis is away.
    func admit(_ charge: Charge, _ subject: Subject, _ completion: @escaping @LoopActor (Admission) -> Void) {
        limiter.count(
            charge, for: subject, expecting: claimed(by: subject).tier.terms(of: charge),
            readsRecord: settings.enabled
        ) { [self] count, reply in
            switch Self.known(count, reply) {
            case .failure(let error):
                let claimed = claimed(by: subject)
                let terms = claimed.tier.terms(of: charge)
                completion(
                    Admission(
                        decision: limiter.decideWithoutRedis(charge, subject, terms, error), terms: terms,
                        entitlement: Self.isDisabled(reply) ? .failure(.userDisabled) : .success(claimed)))
            case .success(let counted):
                let entitlement = entitlement(for: charge.name, of: subject, reply)
                // Whoever is refused is told of the limit that the token alone would give.
                let tier = (try? entitlement.get())?.tier ?? claimed(by: subject).tier
                let terms = tier.terms(of: charge)
                decide(charge, subject, counted, terms) {
                    completion(Admission(decision: $0, terms: terms, entitlement: entitlement))
                }
            }
        }
    }

    /// Decides by the terms of the tier that the record names; Redis counted by those it had last.
    private func decide(
        _ charge: Charge, _ subject: Subject, _ counted: RateLimiter.Counted, _ terms: LimitTerms,
        _ completion: @escaping @LoopActor (LimitDecision) -> Void
    ) {
        let decision = LimitDecision(charge, counted.before, by: terms)
        guard !counted.terms.hasQuotas(of: terms) else { return completion(decision) }
        let isTaken = counted.before.admits(charge, by: counted.terms)
        guard isTaken || !decision.isAllowed else {
            return limiter.recount(charge, for: subject, by: terms) { [limiter] count in
                do throws(RedisError) {
                    completion(LimitDecision(charge, try count.get().before, by: terms))
                } catch {
                    completion(limiter.decideWithoutRedis(charge, subject, terms, error))
                }
            }
        }
        limiter.learn(terms, charge, subject)
        guard isTaken, !decision.isAllowed else { return completion(decision) }
        limiter.giveBack(charge, for: subject, by: terms) { completion(decision) }
    }

    /// A record that did not come is like a Redis that is away; one that Redis refuses is for somebody to look at.
    private static func known(
        _ count: Result<RateLimiter.Counted, RedisError>, _ reply: RedisOutcome?
    ) -> Result<RateLimiter.Counted, RedisError> {
        switch reply {
        case .failure(.timeout): .failure(.timeout)
        case .failure(.interrupted): .failure(.interrupted)
        case .failure(.unavailable): .failure(.unavailable)
        case .failure(.refused), .success, nil: count
        }
    }

    /// Whether the record came although Redis could not count, as on a replica, and says so.
    private static func isDisabled(_ reply: RedisOutcome?) -> Bool {
        guard case .success(let values)? = reply else { return false }
        return (try? UserRecord.parse(values))?.isDisabled == true
    }

    /// What the token alone would give.
    private func claimed(by subject: Subject) -> Entitlement {
        guard let (name, tier) = tiers.tier(record: nil, claim: subject.tier) else {
            preconditionFailure("the settings' check lets no default pass that is no tier")
        }
        return Entitlement(unknownTo: name, tier: tier)
    }

    private func entitlement(
        for use: LimitName, of subject: Subject, _ reply: RedisOutcome?
    ) -> Result<Entitlement, Entitlement.Refusal> {
        guard let reply else { return .success(claimed(by: subject)) }
        // Redis counted a moment ago: what it refuses now is a key of another kind, or the ACL lacks HMGET.
        guard case .success(let values) = reply else { return .failure(.malformedRecord) }
        let record: UserRecord?
        do throws(UserRecordError) { record = try UserRecord.parse(values) } catch { return .failure(.malformedRecord) }
        // Who signs in learns the user id that the record is to be made for.
        if record == nil, settings.withoutRecord == .refuse, use != .session { return .failure(.noRecord) }
        if record?.isDisabled == true { return .failure(.userDisabled) }
        guard let (name, tier) = tiers.tier(record: record?.tier, claim: subject.tier) else {
            return .failure(.malformedRecord)
        }
        return .success(Entitlement(tierName: name, tier: tier, record: record, now: now()))
    }
}
