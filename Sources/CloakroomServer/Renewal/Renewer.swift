package import CloakroomAWS
package import CloakroomWire
package import CloakroomLoop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Renews the objects of a batch, each key once.
@LoopActor
package final class Renewer {
    /// What became of a batch.
    package enum Outcome: Sendable, Equatable {
        /// - Parameter misconfiguration: why the worker could not look for images of chats; `nil` where it could, or need not.
        case results([RenewResult], misconfiguration: String? = nil)
        /// Nothing may be told of single keys: clients take every key that is not `not_found` for renewed.
        case tryAgain(after: Duration, code: String)
        /// The worker's permissions, bucket or credentials are wrong, or may be: nothing may be told of single keys.
        case misconfigured(code: String)
    }

    private let renew: @Sendable (String, ContinuousClock.Instant) async -> Renewal
    private let settings: Settings.Renewal
    private let requestDeadline: Duration
    private let metrics: Metrics
    private let now: @Sendable () -> Date
    private let rules: KeyRules
    private let queue: ObjectQueue
    private let permissions: RenewalPermissions
    private let chatImage: @Sendable (String, ContinuousClock.Instant) async -> Renewal.Outcome

    /// - Parameters:
    ///   - queue: `nil` for one of its own.
    ///   - permissions: tells whether a refusal is the key's own; `nil` where only other keys can prove it.
    ///   - chatImage: what a name comes to that is in no place of assets, by the key that it has as an image of a chat.
    ///   - renew: renews one object by its whole key until a deadline.
    package init(
        settings: Settings.Renewal, requestDeadline: Duration, metrics: Metrics,
        queue: ObjectQueue? = nil,
        permissions: RenewalPermissions? = nil,
        now: @escaping @Sendable () -> Date = { Date() },
        chatImage: @escaping @Sendable (String, ContinuousClock.Instant) async -> Renewal.Outcome = { _, _ in .notFound
        },
        renew: @escaping @Sendable (String, ContinuousClock.Instant) async -> Renewal
    ) {
        self.renew = renew
        self.settings = settings
        self.requestDeadline = requestDeadline
        self.metrics = metrics
        self.now = now
        rules = KeyRules(settings)
        self.queue =
            queue ?? ObjectQueue(CopyConcurrencyLimiter(maximum: settings.maximumInFlight, metrics: metrics))
        self.permissions = permissions ?? RenewalPermissions(test: nil)
        self.chatImage = chatImage
    }

    /// - Parameters:
    ///   - keys: as the client sent them; the results come in this order, duplicates too.
    ///   - user: whose keys they are to be, where the settings mind.
    ///   - copied: is told the whole keys of the objects that S3 has copied, whatever became of the others.
    ///   - unserved: called before ``Outcome/tryAgain(after:code:)`` is returned, where S3 was unavailable for each of the
    ///     keys, and did not throttle: a flood of requests that makes it do so is one all the same.
    package func renew(
        _ keys: [String], of user: UserID? = nil, copied: ([String]) -> Void = { _ in }, unserved: () -> Void = {}
    ) async -> Outcome {
        let distinct = DistinctKeys(keys)
        // By the position of each distinct key: where its outcome will be, or why it has none.
        var statuses: [KeyStatus] = []
        statuses.reserveCapacity(distinct.keys.count)
        var sent: [String] = []
        sent.reserveCapacity(distinct.keys.count)
        let folders = rules.folders(of: user)
        for key in distinct.keys {
            switch rules.decision(key, in: folders) {
            case .send(let whole):
                statuses.append(.sent(sent.count))
                sent.append(whole)
            case .invalid:
                metrics.renewed(.invalidKey)
                statuses.append(.refused(.invalidKey))
            case .outsideFolders:
                metrics.refusedKeyOutsideFolders()
                statuses.append(.refused(.forbidden))
            }
        }
        let (outcomes, batch) = await outcomes(of: sent)
        copied(batch.copiedKeys)
        if let fault = fault(in: outcomes) {
            if case .tryAgain = fault, batch.isUnserved { unserved() }
            return fault
        }
        let end = settings.retention.map { now() + $0 / .seconds(1) }
        return .results(
            distinct.positions.indices.map { index in
                switch statuses[distinct.positions[index]] {
                case .sent(let position): Self.result(keys[index], outcomes[position], end: end)
                case .refused(let failure): RenewResult(key: keys[index], failure: failure)
                }
            }, misconfiguration: batch.chatDenial)
    }

    private enum KeyStatus {
        case sent(Int)
        case refused(RenewalErrorCode)
    }

    // MARK: Copying

    /// - Returns: with them, what else is known of the batch.
    private func outcomes(of keys: [String]) async -> (outcomes: [Renewal.Outcome], batch: RenewalBatch) {
        let batch = RenewalBatch(count: keys.count, deadline: ContinuousClock.now + requestDeadline)
        await queue.perform(keys.count) { [self] position in
            let key = keys[position]
            let refusals = permissions.lastRefusal
            let renewal = await renewOnce(key, of: batch)
            batch.note(renewal, of: key)
            // Whatever became of it: the others go on, for what is renewed need not be renewed again.
            guard renewal.outcome.isSuccess else { return await finish(position, of: batch, renewal.outcome, at: key) }
            if permissions.isAwaited { recordProof(renewal, of: key, sentAfter: refusals) }
            metrics.renewed(renewal.outcome)
            batch.outcomes[position] = renewal.outcome
        }
        let outcomes = batch.refusals.isEmpty ? batch.outcomes : await tested(batch.outcomes, of: batch)
        return (outcomes, batch)
    }

    private func renewOnce(_ key: String, of batch: RenewalBatch) async -> Renewal {
        guard rules.mayCoincide else { return await renew(key, batch.deadline) }
        return await batch.once(key) { await renew(key, batch.deadline) }
    }

    /// A renewal proves that others were not refused for want of permissions; one that sent nothing proves nothing.
    private func recordProof(_ renewal: Renewal, of key: String, sentAfter refusals: Int) {
        guard case .renewed = renewal.outcome, renewal.counts.attempts > 0 else { return }
        permissions.renewed(under: rules.prefix(of: key), sentAfter: refusals)
    }

    /// Looks for the object under the other prefixes, one after the other: the first success ends the search.
    private func finish(_ position: Int, of batch: RenewalBatch, _ first: Renewal.Outcome, at key: String) async {
        var outcome = first
        var refusals = permissions.refusal(first, of: key, under: rules.prefix(of: key)).map { [$0] } ?? []
        for other in rules.others(than: key) {
            let sentAfter = permissions.lastRefusal
            let renewal = await renewOnce(other, of: batch)
            batch.note(renewal, of: other)
            if permissions.isAwaited { recordProof(renewal, of: other, sentAfter: sentAfter) }
            if let refusal = permissions.refusal(renewal.outcome, of: other, under: rules.prefix(of: other)) {
                refusals.append(refusal)
            }
            if renewal.outcome.weight > outcome.weight { outcome = renewal.outcome }
            if outcome.isSuccess { break }
        }
        // Clients delete what is not found: that is said of no image of a chat.
        if outcome == .notFound, let chatKey = rules.chatKey(of: key) {
            outcome = await chatImage(chatKey, batch.deadline)
            // S3 said of all places of assets that it is gone: nothing is lost if the client keeps its reference, and the
            // other keys need not wait for a policy.
            if case .accessDenied(let code) = outcome {
                batch.chatDenial = code
                batch.outcomes[position] = .unrenewableObject(code: code)
                return metrics.renewed(outcome)
            }
        }
        if !outcome.isRefusal {
            permissions.close(refusals)
            refusals = []
            metrics.renewed(outcome)
        }
        if !refusals.isEmpty { batch.refusals[position] = refusals }
        batch.outcomes[position] = outcome
    }

    /// Which refusals are the keys' own. Each may take a request for its object's KMS key: as many at once as may be copied.
    private func tested(_ outcomes: [Renewal.Outcome], of batch: RenewalBatch) async -> [Renewal.Outcome] {
        var outcomes = outcomes
        var refused = Array(batch.refusals)[...]
        while !refused.isEmpty {
            let running = refused.prefix(queue.allowed).map { position, refusals in
                let task = LoopActor.spawn { [self] in await cause(of: refusals, until: batch.deadline) }
                return (position, refusals, task)
            }
            refused = refused.dropFirst(running.count)
            for (position, refusals, task) in running {
                switch await task.value {
                case .key: outcomes[position] = outcomes[position].ofKey
                case .kmsKey: outcomes[position] = .misconfigured(code: AWSError.deniedByKMS)
                case .unknown: break
                }
                permissions.close(refusals)
                metrics.renewed(outcomes[position])
            }
        }
        return outcomes
    }

    /// Of all that one key was refused with: its own only if each of them is.
    private func cause(
        of refusals: [RenewalPermissions.Refusal], until deadline: ContinuousClock.Instant
    ) async -> RenewalPermissions.Cause {
        for refusal in refusals {
            let cause = await permissions.cause(of: refusal, until: deadline)
            guard cause == .key else { return cause }
        }
        return .key
    }

    // MARK: What is told

    /// What decides the response for all keys: first a misconfiguration, then what is retryable.
    private func fault(in outcomes: [Renewal.Outcome]) -> Outcome? {
        var later: (after: Duration, code: String)?
        for outcome in outcomes {
            switch outcome {
            case .accessDenied(let code), .refused(let code), .misconfigured(let code):
                return .misconfigured(code: code)
            case .unavailable(let retryAfter, let code):
                later = (max(retryAfter ?? .zero, later?.after ?? .seconds(5)), later?.code ?? code)
            case .renewed, .recentlyWritten, .notFound, .archived, .invalidKey, .unrenewableObject: break
            }
        }
        guard settings.partialFailure == .retry, let later else { return nil }
        return .tryAgain(after: later.after, code: later.code)
    }

    /// - Parameter end: of an object's new life, where S3 does not tell it; `nil`: there is none.
    private static func result(_ key: String, _ outcome: Renewal.Outcome, end: Date?) -> RenewResult {
        switch outcome {
        case .renewed(let expiration): RenewResult(key: key, renewedUntil: expiration ?? end)
        case .recentlyWritten(let expiration): RenewResult(key: key, renewedUntil: expiration)
        case .notFound: RenewResult(key: key, failure: .notFound)
        case .archived: RenewResult(key: key, failure: .archived)
        case .invalidKey: RenewResult(key: key, failure: .invalidKey)
        case .unrenewableObject: RenewResult(key: key, failure: .forbidden)
        case .accessDenied, .refused, .misconfigured, .unavailable: RenewResult(key: key, failure: .internalError)
        }
    }
}

extension Renewal.Outcome {
    fileprivate var isSuccess: Bool {
        switch self {
        case .renewed, .recentlyWritten: true
        case .notFound, .archived, .invalidKey, .unrenewableObject, .accessDenied, .refused, .misconfigured,
            .unavailable:
            false
        }
    }

    fileprivate var isRefusal: Bool {
        switch self {
        case .accessDenied, .refused: true
        case .renewed, .recentlyWritten, .notFound, .archived, .invalidKey, .unrenewableObject, .misconfigured,
            .unavailable:
            false
        }
    }

    /// Which of two counts that the prefixes of one object had: the heavier one.
    fileprivate var weight: Int {
        switch self {
        case .notFound: 0
        case .invalidKey: 1
        case .archived, .unrenewableObject: 2
        case .accessDenied, .refused: 3
        case .unavailable: 4
        case .misconfigured: 5
        case .renewed, .recentlyWritten: 6
        }
    }

    /// A refusal that is the key's own.
    fileprivate var ofKey: Renewal.Outcome {
        switch self {
        case .refused(AWSError.unsendable): .invalidKey
        case .accessDenied(let code), .refused(let code): .unrenewableObject(code: code)
        case .renewed, .recentlyWritten, .notFound, .archived, .invalidKey, .unrenewableObject, .misconfigured,
            .unavailable:
            self
        }
    }
}
