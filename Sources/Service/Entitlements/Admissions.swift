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
    /// In how many seconds an identity token made then would be accepted; `nil` where none made now would be refused.
    var signInWait: Int?
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
            switch answer {
            case .failure(let error): completion(admission(question, without: error, refusal: nil))
            case .reply(var reading): read(question, subject.signIn, &reading, completion)
            }
        }
    }

    private func read(
        _ question: LimitQuestion, _ signIn: Date?, _ reading: inout RedisReading,
        _ completion: @escaping @LoopActor (Admission) -> Void
    ) {
        let count = LimitCount.read(
            &reading, isSplit: question.isSplit, hasVolume: question.terms.volume != nil)
        reading.goTo(reply: question.isSplit ? 2 : 1)
        switch count {
        case .failure(let error):
            // The record may have come although Redis could not count, as from a replica.
            let record = question.readsRecord ? try? UserRecord.parse(&reading) : nil
            completion(admission(question, without: error, refusal: record?.refusal(of: signIn)))
        case .success(let before):
            let record = self.record(question, &reading)
            let entitlement = record.flatMap { self.entitlement(question, signIn, $0) }
            guard let wait = (try? record.get())?.signInWait(at: now()) else {
                return decide(question, before, entitlement, completion)
            }
            decide(question, before, entitlement) {
                var admission = $0
                admission.signInWait = wait
                completion(admission)
            }
        }
    }

    private func admission(
        _ question: LimitQuestion, without error: RedisError, refusal: Entitlement.Refusal?
    ) -> Admission {
        let claimed = claimed(by: question.subject)
        let terms = claimed.tier.terms(of: question.charge)
        return Admission(
            decision: limiter.decideWithoutRedis(question, by: terms, error), terms: terms,
            entitlement: refusal.map { .failure($0) } ?? .success(claimed))
    }

    /// Decides by the terms of the tier that the record names; Redis counted by those it had last.
    private func decide(
        _ question: LimitQuestion, _ before: LimitCount, _ entitlement: Result<Entitlement, Entitlement.Refusal>,
        _ completion: @escaping @LoopActor (Admission) -> Void
    ) {
        let terms =
            switch entitlement {
            case .success(let entitlement): entitlement.tier.terms(of: question.charge)
            // Whoever is refused is told of the limit that the token alone would give.
            case .failure: claimed(by: question.subject).tier.terms(of: question.charge)
            }
        let decision = LimitDecision(question.charge, before, by: terms)
        guard question.terms.hasQuotas(of: terms) else {
            return mend(question, before, decision, terms) {
                completion(Admission(decision: $0, terms: terms, entitlement: entitlement))
            }
        }
        // Of two calls one may have counted what the other refused. Nothing waits for the refund: the next request of
        // anybody is counted after it.
        if !decision.isAllowed { limiter.giveBack(question.taken(before), of: question, by: terms) }
        completion(Admission(decision: decision, terms: terms, entitlement: entitlement))
    }

    /// Puts right what Redis has counted by terms that hold no longer.
    private func mend(
        _ question: LimitQuestion, _ before: LimitCount, _ decision: LimitDecision, _ terms: LimitTerms,
        _ completion: @escaping @LoopActor (LimitDecision) -> Void
    ) {
        let taken = question.taken(before)
        guard taken == .all || !decision.isAllowed else {
            limiter.giveBack(taken, of: question, by: terms)
            return limiter.recount(question, by: terms) { [limiter] count in
                switch count {
                case .success(let before): completion(LimitDecision(question.charge, before, by: terms))
                case .failure(let error): completion(limiter.decideWithoutRedis(question, by: terms, error))
                }
            }
        }
        limiter.learn(terms, of: question)
        guard !decision.isAllowed else { return completion(decision) }
        limiter.giveBack(taken, of: question, by: terms) { completion(decision) }
    }

    /// What the token alone would give.
    private func claimed(by subject: Subject) -> Entitlement {
        let (name, tier) = claimedTier(of: subject)
        return Entitlement(unknownTo: name, tier: tier)
    }

    private func claimedTier(of subject: Subject) -> (name: String, tier: Tier) {
        guard let found = tiers.tier(record: nil, claim: subject.tier) else {
            preconditionFailure("the settings' check lets no default pass that is no tier")
        }
        return found
    }

    private func record(
        _ question: LimitQuestion, _ reading: inout RedisReading
    ) -> Result<UserRecord?, Entitlement.Refusal> {
        guard question.readsRecord else { return .success(nil) }
        // Redis counted a moment ago: what it refuses now is a key of another kind, or the ACL lacks HMGET.
        do throws(UserRecordError) { return .success(try UserRecord.parse(&reading)) } catch {
            return .failure(.malformedRecord)
        }
    }

    private func entitlement(
        _ question: LimitQuestion, _ signIn: Date?, _ record: UserRecord?
    ) -> Result<Entitlement, Entitlement.Refusal> {
        guard question.readsRecord else { return .success(claimed(by: question.subject)) }
        guard let record else { return unrecorded(question) }
        if let refusal = record.refusal(of: signIn) { return .failure(refusal) }
        guard let (name, tier) = tiers.tier(record: record.tier, claim: question.subject.tier) else {
            return .failure(.malformedRecord)
        }
        return .success(Entitlement(tierName: name, tier: tier, record: record, now: now()))
    }

    private func unrecorded(_ question: LimitQuestion) -> Result<Entitlement, Entitlement.Refusal> {
        // Who signs in learns the user id that the record is to be made for.
        if settings.withoutRecord == .refuse, question.charge.name != .session { return .failure(.noRecord) }
        let (name, tier) = claimedTier(of: question.subject)
        return .success(Entitlement(tierName: name, tier: tier, record: nil, now: now()))
    }
}

extension UserRecord {
    /// What the record alone refuses.
    fileprivate func refusal(of signIn: Date?) -> Entitlement.Refusal? {
        isDisabled ? .userDisabled : revokes(signIn) ? .sessionRevoked : nil
    }

    /// In how many seconds a revocation lies behind; `nil` where it does, or lies further ahead than any command sets it.
    fileprivate func signInWait(at now: @autoclosure () -> Date) -> Int? {
        guard let revokedBefore else { return nil }
        let wait = (revokedBefore.timeIntervalSince1970 - now().timeIntervalSince1970.rounded(.down)) + 1
        return (1...3600).contains(wait) ? Int(wait) : nil
    }
}
