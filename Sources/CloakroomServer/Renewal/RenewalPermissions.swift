package import CloakroomAWS
package import CloakroomLoop

/// Tells the refusal of one key from a refusal of all: only the first is told of the key, and never on S3's word alone.
///
/// Clients take every key that is not `not_found` for renewed. So a refusal is the key's own only once a request that was
/// sent after it has renewed another object under the same prefix. Refusals are numbered in the order in which they come,
/// so that a renewal knows which of them it was sent after. What it shows of one KMS key says nothing of another.
@LoopActor
package final class RenewalPermissions {
    /// Renews an object of the worker's own under a prefix until a deadline, whatever its age.
    package typealias Test = @Sendable (_ prefix: String, _ deadline: ContinuousClock.Instant) async -> RenewalTest
    /// The KMS key of the object with a key; `nil` for none, and where nothing can be known of it.
    package typealias KMSKey =
        @Sendable (_ key: String, _ deadline: ContinuousClock.Instant) async throws(AWSError) -> String?

    /// One that may be the key's own.
    struct Refusal: Equatable {
        let number: Int
        let key: String
        let prefix: String
        let code: String
        /// Of 403: another object may need fewer permissions, so that it proves nothing. Without `s3:ListBucket` S3 says
        /// it of each key that is gone, without `s3:GetObjectTagging` of each with tags.
        let isDenial: Bool
    }

    enum Cause: Equatable {
        /// The object: others are renewed.
        case key
        /// Perhaps the worker's rights on a KMS key that no renewal has shown.
        case kmsKey
        case unknown
    }

    private struct Evidence {
        /// The last refusal that something was sent after which proved it the key's own.
        var renewed = 0
        var tested = 0
        /// What the last test that succeeded showed.
        var kmsKey: String?
        /// The last refusal before a test that failed.
        var failed = 0
        var lastTest: ContinuousClock.Instant?
        var running: Task<Void, Never>?
    }

    /// Between two tests under one prefix.
    private static let interval: Duration = .seconds(1)
    /// Of one test.
    private static let timeout: Duration = .seconds(3)

    private let test: Test?
    private let kmsKey: KMSKey
    private let now: @Sendable () -> ContinuousClock.Instant
    private let sleep: @Sendable (Duration) async throws -> Void
    /// By prefix; the settings name them, so they are few.
    private var evidence: [String: Evidence] = [:]
    private var open = 0
    /// The number of the last one; 0 before the first.
    private(set) var lastRefusal = 0

    /// - Parameters:
    ///   - kmsKey: called for a denied object once a test has succeeded.
    ///   - test: `nil` where only other keys can prove anything.
    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await LoopActor.sleep(for: $0) },
        kmsKey: @escaping KMSKey = { _, _ in nil }, test: Test?
    ) {
        self.test = test
        self.kmsKey = kmsKey
        self.now = now
        self.sleep = sleep
    }

    /// Whether a renewal proves anything to anybody now.
    var isAwaited: Bool { open > 0 }

    /// - Returns: `nil` for an outcome that is no refusal.
    func refusal(
        _ outcome: Renewal.Outcome, of key: String, under prefix: @autoclosure () -> String
    ) -> Refusal? {
        let (code, isDenial): (String, Bool)
        switch outcome {
        case .accessDenied(let refused): (code, isDenial) = (refused, true)
        case .refused(let refused): (code, isDenial) = (refused, false)
        case .renewed, .recentlyWritten, .notFound, .archived, .invalidKey, .unrenewableObject, .misconfigured,
            .unavailable:
            return nil
        }
        lastRefusal += 1
        open += 1
        return Refusal(number: lastRefusal, key: key, prefix: prefix(), code: code, isDenial: isDenial)
    }

    /// No more requests are sent about it.
    func close(_ refusals: [Refusal]) { open -= refusals.count }

    /// - Parameter number: of the last refusal when the renewal was sent.
    func renewed(under prefix: String, sentAfter number: Int) {
        evidence[prefix, default: Evidence()].renewed = max(evidence[prefix]?.renewed ?? 0, number)
    }

    /// Whether it is proven to be the key's own; tests that where nothing else has proven it.
    func cause(of refusal: Refusal, until deadline: ContinuousClock.Instant) async -> Cause {
        while true {
            let current = evidence[refusal.prefix] ?? Evidence()
            if !refusal.isDenial, max(current.tested, current.renewed) >= refusal.number { return .key }
            if current.tested >= refusal.number { return await cause(ofDenied: refusal.key, current.kmsKey, deadline) }
            guard let test, current.failed < refusal.number, now() < deadline else { return .unknown }
            let running =
                current.running
                ?? LoopActor.spawn { [self] in await run(test, under: refusal.prefix, after: current.lastTest) }
            evidence[refusal.prefix, default: Evidence()].running = running
            await running.value
        }
    }

    /// S3 does not always say that it was KMS that denied a request.
    private func cause(
        ofDenied key: String, _ proven: String?, _ deadline: ContinuousClock.Instant
    ) async -> Cause {
        do throws(AWSError) {
            guard let own = try await kmsKey(key, deadline) else { return .key }
            return own == proven ? .key : .kmsKey
        } catch {
            return .unknown
        }
    }

    private func run(_ test: Test, under prefix: String, after last: ContinuousClock.Instant?) async {
        if let last, last + Self.interval > now() { try? await sleep(now().duration(to: last + Self.interval)) }
        let number = lastRefusal
        let start = now()
        let result = await test(prefix, start + Self.timeout)
        var current = evidence[prefix] ?? Evidence()
        current.lastTest = start
        current.running = nil
        switch result {
        case .renewed(let kmsKey): (current.tested, current.kmsKey) = (number, kmsKey)
        case .failed: current.failed = number
        }
        evidence[prefix] = current
    }
}
