import CloakroomLoop
import CloakroomRedis

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Whether one request may be served: what is left of the device's limit, and what the user is entitled to.
///
/// An object, for it is large and goes with the request to its response.
final class Admission: Sendable {
    let decision: RateLimitDecision
    /// The limits that were applied.
    let terms: RateLimitPolicy
    let entitlement: Result<Entitlement, Entitlement.Refusal>
    /// In how many seconds an identity token made then would be accepted; `nil` where one made now would be, and where it
    /// is no revocation that refuses.
    let signInWait: Int?

    init(
        _ decision: RateLimitDecision, by terms: RateLimitPolicy,
        _ entitlement: Result<Entitlement, Entitlement.Refusal>, signInWait: Int? = nil
    ) {
        self.decision = decision
        self.terms = terms
        self.entitlement = entitlement
        self.signInWait = signInWait
    }
}

/// Counts a request and reads its user's record, both in one round trip to Redis.
@LoopActor
final class Admissions {
    private let limiter: RateLimiter
    private let tiers: Tiers
    private let settings: Settings.Entitlements
    private let now: @Sendable () -> Date
    private var unknownTiers: Set<String> = []
    /// Records may name as many as there are.
    private static let maximumUnknownTiers = 100

    /// Called with a tier that a user's record names and the settings lack, once for each such tier.
    var onUnknownTier: (@LoopActor (_ tier: String, UserID) -> Void)?

    init(limiter: RateLimiter, tiers: Tiers, settings: Settings.Entitlements, now: @escaping @Sendable () -> Date) {
        self.limiter = limiter
        self.tiers = tiers
        self.settings = settings
        self.now = now
    }

    /// - Parameter completion: called once; before this returns if Redis is unreachable.
    func admit(_ cost: RateLimitCost, _ subject: Subject, _ completion: @escaping @LoopActor (Admission) -> Void) {
        let request = limiter.request(
            cost, subject, expecting: claimed(by: subject).tier.terms(of: cost), readsRecord: settings.enabled)
        limiter.send(request) { [self] answer in
            switch answer {
            case .failure(let error): completion(admission(request, without: error, refusal: nil))
            case .reply(var cursor): read(request, subject.signIn, &cursor, completion)
            }
        }
    }

    private func read(
        _ request: RateLimitRequest, _ signIn: Date?, _ cursor: inout RedisReplyCursor,
        _ completion: @escaping @LoopActor (Admission) -> Void
    ) {
        let count = RateLimitCount.read(
            &cursor, isSplit: request.isSplit, hasQuantity: request.terms.quantity != nil)
        cursor.goTo(reply: request.isSplit ? 2 : 1)
        switch count {
        case .failure(let error):
            // The record may have come although Redis could not count, as from a replica, or from another server.
            let user = request.readsRecord ? try? UserRecord.parse(&cursor) : nil
            let admission = admission(request, without: error, refusal: user?.record?.refusal(of: signIn))
            if !admission.decision.isAllowed {
                limiter.refund(request.countedLevels(cursor), of: request, by: request.terms)
            }
            completion(admission)
        case .success(let before):
            if request.readsRecord, let error = cursor.refusal, !error.isOfRecord {
                let admission = admission(request, without: error, refusal: nil)
                if !admission.decision.isAllowed {
                    limiter.refund(request.countedLevels(before), of: request, by: request.terms)
                }
                return completion(admission)
            }
            switch user(request, &cursor) {
            case .failure(let refusal): decide(request, before, .failure(refusal), completion)
            case .success(let user):
                let entitlement = entitlement(request, signIn, user)
                let isRevoked = if case .failure(.sessionRevoked) = entitlement { true } else { false }
                let wait = isRevoked ? user.record?.signInWait(at: now()) : nil
                decide(request, before, entitlement, signInWait: wait, completion)
            }
        }
    }

    private func admission(
        _ request: RateLimitRequest, without error: RedisError, refusal: Entitlement.Refusal?
    ) -> Admission {
        let claimed = claimed(by: request.subject)
        let terms = claimed.tier.terms(of: request.cost)
        return Admission(
            limiter.decideWithoutRedis(request, by: terms, error), by: terms,
            refusal.map { .failure($0) } ?? .success(claimed))
    }

    /// Decides by the terms of the tier that the record names; Redis counted by those it had last.
    private func decide(
        _ request: RateLimitRequest, _ before: RateLimitCount, _ entitlement: Result<Entitlement, Entitlement.Refusal>,
        signInWait: Int? = nil, _ completion: @escaping @LoopActor (Admission) -> Void
    ) {
        let terms =
            switch entitlement {
            case .success(let entitlement): entitlement.tier.terms(of: request.cost)
            // A refused client is told of the limit that the token alone would give.
            case .failure: claimed(by: request.subject).tier.terms(of: request.cost)
            }
        let decision = RateLimitDecision(request.cost, before, by: terms)
        guard request.terms.hasQuotas(of: terms) else {
            return correctCount(request, before, decision, terms) {
                completion(Admission($0, by: terms, entitlement, signInWait: signInWait))
            }
        }
        // Of two calls one may have counted what the other refused. Nothing waits for the refund: the next request of
        // anybody is counted after it.
        if !decision.isAllowed { limiter.refund(request.countedLevels(before), of: request, by: terms) }
        completion(Admission(decision, by: terms, entitlement, signInWait: signInWait))
    }

    /// Puts right what Redis has counted by terms that hold no longer.
    private func correctCount(
        _ request: RateLimitRequest, _ before: RateLimitCount, _ decision: RateLimitDecision, _ terms: RateLimitPolicy,
        _ completion: @escaping @LoopActor (RateLimitDecision) -> Void
    ) {
        let taken = request.countedLevels(before)
        guard taken == .all || !decision.isAllowed else {
            limiter.refund(taken, of: request, by: terms)
            return limiter.recount(request, by: terms) { [limiter] count in
                switch count {
                case .success(let before): completion(RateLimitDecision(request.cost, before, by: terms))
                case .failure(let error): completion(limiter.decideWithoutRedis(request, by: terms, error))
                }
            }
        }
        limiter.remember(terms, of: request)
        guard !decision.isAllowed else { return completion(decision) }
        limiter.refund(taken, of: request, by: terms) { completion(decision) }
    }

    /// What the token alone would give.
    private func claimed(by subject: Subject) -> Entitlement {
        let (name, tier) = claimedTier(of: subject)
        return Entitlement(unknownTo: name, tier: tier)
    }

    private func claimedTier(of subject: Subject) -> (name: String, tier: Tier) { claimedTier(subject.tier) }

    /// - Parameter claim: `nil` for the default.
    private func claimedTier(_ claim: String?) -> (name: String, tier: Tier) {
        guard let found = tiers.tier(record: nil, claim: claim) else {
            preconditionFailure("the settings' check lets no default pass that is no tier")
        }
        return found
    }

    private func user(
        _ request: RateLimitRequest, _ cursor: inout RedisReplyCursor
    ) -> Result<StoredUser, Entitlement.Refusal> {
        guard request.readsRecord else { return .success(.unrecorded(storageUsed: 0)) }
        do throws(UserRecordError) { return .success(try UserRecord.parse(&cursor)) } catch {
            return .failure(.malformedRecord)
        }
    }

    private func entitlement(
        _ request: RateLimitRequest, _ signIn: Date?, _ user: StoredUser
    ) -> Result<Entitlement, Entitlement.Refusal> {
        guard request.readsRecord else { return .success(claimed(by: request.subject)) }
        let record: UserRecord
        switch user {
        case .record(let known): record = known
        case .unrecorded(let storageUsed, let shares):
            return unrecorded(request, storageUsed: storageUsed, shares)
        }
        if let refusal = record.refusal(of: signIn) { return .failure(refusal) }
        if let (name, tier) = tiers.tier(record: record.tier, claim: request.subject.tier) {
            return .success(Entitlement(tierName: name, tier: tier, record: record, now: now()))
        }
        // By the default's limits: what is to be renewed does not wait until an operator has seen to the record.
        if let unknown = record.tier { noteUnknown(unknown, of: request.subject.userID) }
        let (name, tier) = claimedTier(nil)
        return .success(Entitlement(tierName: name, tier: tier, record: record, isTierUnknown: true, now: now()))
    }

    private func noteUnknown(_ tier: String, of user: UserID) {
        guard unknownTiers.count < Self.maximumUnknownTiers, unknownTiers.insert(tier).inserted else { return }
        onUnknownTier?(tier, user)
    }

    private func unrecorded(
        _ request: RateLimitRequest, storageUsed: Int, _ shares: UserRecord.Shares
    ) -> Result<Entitlement, Entitlement.Refusal> {
        // Who signs in learns the user id that the record is to be made for.
        if settings.withoutRecord == .refuse, request.cost.name != .session { return .failure(.noRecord) }
        let (name, tier) = claimedTier(of: request.subject)
        return .success(Entitlement(tierName: name, tier: tier, storageUsed: storageUsed, shares: shares))
    }
}

extension RedisError {
    /// Whether Redis responds and cannot give the record all the same: its key is of another kind, or the ACL lacks HMGET.
    fileprivate var isOfRecord: Bool { [.refused(code: "WRONGTYPE"), .refused(code: "NOPERM")].contains(self) }
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
