package import CloakroomServer
package import CloakroomWire
package import CloakroomLoop

/// Renews objects by their whole keys, batch by batch, through what handles clients' batches.
@LoopActor
package final class RenewalRun {
    package enum RunError: Error, Sendable, Equatable {
        /// S3 or the network failed for longer than is waited for.
        case unavailable(code: String)
        case misconfigured(code: String)
        /// What was done could not be kept for the case of an interruption.
        case notKept
        case cancelled
        /// Why the keys cannot be read.
        case unreadable(String)
    }

    /// What became of the keys so far.
    package struct Totals: Sendable, Equatable {
        /// Renewed, or young enough.
        package var renewed = 0
        package var gone = 0
        /// Archived, of another owner, or no key at all.
        package var refused = 0
        /// In users' folders, or Cloakroom's own.
        package var skipped = 0

        package init() {}
    }

    /// Why a key is not renewed.
    package enum Miss: Sendable, Equatable {
        case gone
        /// In a user's folder, or Cloakroom's own.
        case leftAlone
        case refused(RenewalErrorCode)
    }

    package static let batchSize = WireLimits.maximumKeysPerRequest
    private static let maximumAttempts = 10

    package private(set) var totals: Totals
    private let renewer: Renewer
    private let mayRenew: @Sendable (String) -> Bool
    private let interval: Duration
    private let onMiss: @LoopActor (String, Miss) -> Void
    private let sleep: @Sendable (Duration) async throws -> Void
    private var next = ContinuousClock.now

    /// - Parameters:
    ///   - interval: for one key; a batch waits for all of its keys.
    ///   - mayRenew: whether a key is sent at all.
    ///   - onMiss: told of each key that is not renewed.
    package init(
        _ renewer: Renewer, totals: Totals, interval: Duration, mayRenew: @escaping @Sendable (String) -> Bool,
        onMiss: @escaping @LoopActor (String, Miss) -> Void,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await LoopActor.sleep(for: $0) }
    ) {
        self.renewer = renewer
        self.totals = totals
        self.interval = interval
        self.mayRenew = mayRenew
        self.onMiss = onMiss
        self.sleep = sleep
    }

    /// - Parameter keys: at most ``batchSize``.
    package func renew(_ keys: [String]) async throws(RunError) {
        let wanted = keys.filter(mayRenew)
        if !wanted.isEmpty { count(try await results(of: wanted)) }
        guard wanted.count < keys.count else { return }
        for key in keys where !mayRenew(key) {
            totals.skipped += 1
            onMiss(key, .leftAlone)
        }
    }

    private func results(of wanted: [String]) async throws(RunError) -> [RenewResult] {
        var code = ""
        for _ in 0..<Self.maximumAttempts {
            try await wait(next - ContinuousClock.now)
            next = ContinuousClock.now + interval * wanted.count
            switch await renewer.renew(wanted) {
            // Keys that are `forbidden` for it are among the misses.
            case .results(let results, _): return results
            case .misconfigured(let code): throw .misconfigured(code: code)
            case .tryAgain(let delay, let cause):
                code = cause
                try await wait(delay)
            }
        }
        throw .unavailable(code: code)
    }

    private func count(_ results: [RenewResult]) {
        for result in results {
            switch result.error {
            case nil: totals.renewed += 1
            case .notFound:
                totals.gone += 1
                onMiss(result.key, .gone)
            case .some(let failure):
                totals.refused += 1
                onMiss(result.key, .refused(failure))
            }
        }
    }

    private func wait(_ delay: Duration) async throws(RunError) {
        guard delay > .zero else { return }
        do { try await sleep(delay) } catch { throw .cancelled }
    }
}

extension Settings.Renewal {
    /// For whole keys of a list that is the operator's: no prefix goes before them, and none is looked for elsewhere.
    package var ofWholeKeys: Settings.Renewal {
        var settings = self
        settings.keyPrefix = ""
        settings.otherPrefixes = []
        settings.keys = .any
        settings.ownFolders = nil
        // A batch that failed for a while comes again; what was renewed is young then.
        settings.partialFailure = .retry
        return settings
    }
}
