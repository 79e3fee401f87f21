import Loop
import Redis

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Whether one request may be served: what is left of the device's limit, and what the user is entitled to.
struct Admission: Sendable {
    fileprivate(set) var decision: LimitDecision
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
        let question = limiter.question(
            charge, subject, expecting: claimed(by: subject).tier.terms(of: charge), readsRecord: settings.enabled)
        limiter.ask(question) { [self] answer in
            switch question.count(answer) {
            case .failure(let error): completion(admission(question, without: error, answer.other))
            case .success(let count): decide(question, count, answer.other, completion)
            }
        }
    }

    private func admission(_ question: LimitQuestion, without error: RedisError, _ record: RedisReading?) -> Admission {
        let claimed = claimed(by: question.subject)
        let terms = claimed.tier.terms(of: question.charge)
        return Admission(
            decision: limiter.decideWithoutRedis(question, by: terms, error), terms: terms,
            entitlement: Self.isDisabled(record) ? .failure(.userDisabled) : .success(claimed))
    }

    /// Decides by the terms of the tier that the record names; Redis counted by those it had last.
    private func decide(
        _ question: LimitQuestion, _ before: LimitCount, _ record: RedisReading?,
        _ completion: @escaping @LoopActor (Admission) -> Void
    ) {
        let (charge, subject) = (question.charge, question.subject)
        let entitlement = entitlement(for: charge.name, of: subject, record)
        // Whoever is refused is told of the limit that the token alone would give.
        let tier = (try? entitlement.get())?.tier ?? claimed(by: subject).tier
        let terms = tier.terms(of: charge)
        var admission = Admission(
            decision: LimitDecision(charge, before, by: terms), terms: terms, entitlement: entitlement)
        guard !question.terms.hasQuotas(of: terms) else { return completion(admission) }
        let isTaken = before.admits(charge, by: question.terms)
        guard isTaken || !admission.decision.isAllowed else {
            return limiter.recount(question, by: terms) { [limiter] count in
                switch count {
                case .success(let before): admission.decision = LimitDecision(charge, before, by: terms)
                case .failure(let error): admission.decision = limiter.decideWithoutRedis(question, by: terms, error)
                }
                completion(admission)
            }
        }
        limiter.learn(terms, of: question)
        guard isTaken, !admission.decision.isAllowed else { return completion(admission) }
        limiter.giveBack(question, by: terms) { [admission] in completion(admission) }
    }

    /// Whether the record came although Redis could not count, as on a replica, and says so.
    private static func isDisabled(_ record: RedisReading?) -> Bool {
        guard let record else { return false }
        return (try? UserRecord.parse(record))?.isDisabled == true
    }

    /// What the token alone would give.
    private func claimed(by subject: Subject) -> Entitlement {
        guard let (name, tier) = tiers.tier(record: nil, claim: subject.tier) else {
            preconditionFailure("the settings' check lets no default pass that is no tier")
        }
        return Entitlement(unknownTo: name, tier: tier)
    }

    private func entitlement(
        for use: LimitName, of subject: Subject, _ reading: RedisReading?
    ) -> Result<Entitlement, Entitlement.Refusal> {
        guard let reading else { return .success(claimed(by: subject)) }
        let record: UserRecord?
        // Redis counted a moment ago: what it refuses now is a key of another kind, or the ACL lacks HMGET.
        do throws(UserRecordError) { record = try UserRecord.parse(reading) } catch {
            return .failure(.malformedRecord)
        }
        // Who signs in learns the user id that the record is to be made for.
        if record == nil, settings.withoutRecord == .refuse, use != .session { return .failure(.noRecord) }
        if record?.isDisabled == true { return .failure(.userDisabled) }
        guard let (name, tier) = tiers.tier(record: record?.tier, claim: subject.tier) else {
            return .failure(.malformedRecord)
        }
        return .success(Entitlement(tierName: name, tier: tier, record: record, now: now()))
    }
}
