package import AWS
package import CloakroomWire
package import Loop

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Renews the objects of a batch, all at once under the process's cap, each key once.
@LoopActor
package final class Renewer {
    /// What became of a batch.
    package enum Outcome: Sendable, Equatable {
        case results([RenewResult])
        /// Nothing may be told of single keys: clients take every key that is not `not_found` for renewed.
        case tryAgain(after: Duration, code: String)
        /// Our permissions, bucket or keys are wrong, not the client's.
        case misconfigured(code: String)
    }

    private let renew: @Sendable (String, ContinuousClock.Instant) async -> Renewal
    private let settings: Settings.Renewal
    private let requestDeadline: Duration
    private let metrics: Metrics
    private let now: @Sendable () -> Date
    private let limit: InFlightLimit

    /// - Parameter renew: renews one object by its whole key until a deadline.
    package init(
        settings: Settings.Renewal, requestDeadline: Duration, metrics: Metrics,
        now: @escaping @Sendable () -> Date = { Date() },
        renew: @escaping @Sendable (String, ContinuousClock.Instant) async -> Renewal
    ) {
        self.renew = renew
        self.settings = settings
        self.requestDeadline = requestDeadline
        self.metrics = metrics
        self.now = now
        limit = InFlightLimit(maximum: settings.maximumInFlight)
    }

    /// - Parameter keys: as the client sent them; the results come in this order, duplicates too.
    package func renew(_ keys: [String]) async -> Outcome {
        let deadline = ContinuousClock.now + requestDeadline
        let distinct = Set(keys)
        let allowed = distinct.filter(AssetKey.isAllowed)
        for _ in 0..<distinct.count - allowed.count { metrics.renewed(.invalidKey) }
        let outcomes = await withTaskGroup(of: (String, Renewal.Outcome).self) { group in
            for key in allowed {
                // Before the task is made: a task that only waits is memory that nobody uses.
                await limit.enter()
                group.addTask { await (key, self.renewOne(key, deadline: deadline)) }
            }
            var outcomes: [String: Renewal.Outcome] = [:]
            for await (key, outcome) in group { outcomes[key] = outcome }
            return outcomes
        }
        return judge(keys.map { ($0, outcomes[$0] ?? .invalidKey) })
    }

    /// The place taken before is given back.
    private func renewOne(_ key: String, deadline: ContinuousClock.Instant) async -> Renewal.Outcome {
        let renewal = await renew(settings.keyPrefix + key, deadline)
        limit.leave(wasThrottled: renewal.effort.throttles > 0)
        metrics.renewed(renewal.outcome)
        return renewal.outcome
    }

    private func judge(_ outcomes: [(key: String, outcome: Renewal.Outcome)]) -> Outcome {
        var results: [RenewResult] = []
        results.reserveCapacity(outcomes.count)
        for (key, outcome) in outcomes {
            switch outcome {
            case .renewed(let expiration):
                results.append(
                    RenewResult(key: key, renewedUntil: expiration ?? now() + settings.retention / .seconds(1)))
            case .fresh(let expiration): results.append(RenewResult(key: key, renewedUntil: expiration))
            case .notFound: results.append(RenewResult(key: key, failure: .notFound))
            case .archived: results.append(RenewResult(key: key, failure: .archived))
            case .invalidKey: results.append(RenewResult(key: key, failure: .invalidKey))
            case .unrenewable: results.append(RenewResult(key: key, failure: .forbidden))
            case .forbidden(let code), .misconfigured(let code): return .misconfigured(code: code)
            case .unavailable(let retryAfter, let code):
                guard settings.partialFailure == .report else {
                    return .tryAgain(after: max(retryAfter ?? .zero, .seconds(5)), code: code)
                }
                results.append(RenewResult(key: key, failure: .internalError))
            }
        }
        return .results(results)
    }
}
