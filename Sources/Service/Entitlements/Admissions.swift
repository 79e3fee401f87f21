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

    func admit(_ charge: Charge, _ subject: Subject) async -> Admission {
        let (count, reply) = await limiter.count(
            charge, for: subject, expecting: claimed(by: subject).tier.terms(of: charge),
            readsRecord: settings.enabled)
        switch Self.known(count, reply) {
        case .failure(let error):
            let claimed = claimed(by: subject)
            let terms = claimed.tier.terms(of: charge)
            return Admission(
                decision: limiter.decideWithoutRedis(charge, subject, terms, error), terms: terms,
                entitlement: Self.isDisabled(reply) ? .failure(.userDisabled) : .success(claimed))
        case .success(let counted):
            let entitlement = entitlement(for: charge.name, of: subject, reply)
            // Whoever is refused is told of the limit that the token alone would give.
            let tier = (try? entitlement.get())?.tier ?? claimed(by: subject).tier
            let terms = tier.terms(of: charge)
            let decision = await decision(charge, subject, counted, terms)
            return Admission(decision: decision, terms: terms, entitlement: entitlement)
        }
    }

    /// The decision by the terms of the tier that the record names; Redis counted by those it had last.
    private func decision(
        _ charge: Charge, _ subject: Subject, _ counted: RateLimiter.Counted, _ terms: LimitTerms
    ) async -> LimitDecision {
        guard !counted.terms.hasQuotas(of: terms) else { return LimitDecision(charge, counted.before, by: terms) }
        let isTaken = counted.before.admits(charge, by: counted.terms)
        guard !isTaken, counted.before.admits(charge, by: terms) else {
            limiter.learn(terms, charge, subject)
            let decision = LimitDecision(charge, counted.before, by: terms)
            if isTaken, !decision.isAllowed { await limiter.giveBack(charge, for: subject, by: terms) }
            return decision
        }
        switch await limiter.recount(charge, for: subject, by: terms) {
        case .success(let counted): return LimitDecision(charge, counted.before, by: terms)
        case .failure(let error): return limiter.decideWithoutRedis(charge, subject, terms, error)
        }
    }

    /// A record that did not come is like a Redis that is away; one that Redis refuses is for somebody to look at.
    private static func known(
        _ count: Result<RateLimiter.Counted, RedisError>, _ reply: Result<RedisReply, RedisError>?
    ) -> Result<RateLimiter.Counted, RedisError> {
        switch reply {
        case .failure(.timeout): .failure(.timeout)
        case .failure(.interrupted): .failure(.interrupted)
        case .failure(.unavailable): .failure(.unavailable)
        case .failure(.refused), .success, nil: count
        }
    }

    /// Whether the record came although Redis could not count, as on a replica, and says so.
    private static func isDisabled(_ reply: Result<RedisReply, RedisError>?) -> Bool {
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
        for use: LimitName, of subject: Subject, _ reply: Result<RedisReply, RedisError>?
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
