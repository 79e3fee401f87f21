#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One attempt at one call, for metrics and for adapting to the service.
package struct Attempt: Sendable, Equatable {
    package enum Service: String, Sendable {
        case sts
        case s3
        case iam
    }

    package let service: Service
    /// `nil` for success, or a definite no such as "there is no such object".
    package let fault: AWSError?
    package let duration: Duration

    package init(service: Service, fault: AWSError?, duration: Duration) {
        self.service = service
        self.fault = fault
        self.duration = duration
    }
}

/// What a result took.
package struct AttemptCounts: Sendable, Equatable {
    package var attempts = 0
    package var throttles = 0

    package init(attempts: Int = 0, throttles: Int = 0) {
        self.attempts = attempts
        self.throttles = throttles
    }

    static func += (left: inout AttemptCounts, right: AttemptCounts) {
        left.attempts += right.attempts
        left.throttles += right.throttles
    }

    /// Whether the service may have carried out what it said nothing of: an attempt before the one whose result came, or one
    /// that had no response, or one that says nothing, as 500 does. What is throttled is not carried out.
    ///
    /// - Parameter error: `nil` where the last attempt had a result.
    package func mayHaveActed(before error: AWSError?) -> Bool {
        let others = attempts - throttles
        switch error?.kind {
        case .throttled, .transient, .cancelled: return others > 0
        // Of the last attempt it is known.
        case nil, .refused, .staleCredentials, .skewedClock, .noCredentials: return others > 1
        }
    }
}

/// A client's clock, randomness and tasks, which tests replace.
package struct RuntimeDependencies: Sendable {
    /// For signatures and expirations.
    package var wallClock: @Sendable () -> Date
    /// For deadlines.
    package var now: @Sendable () -> ContinuousClock.Instant
    /// For deadlines, and while there is nothing to do.
    package var sleep: @Sendable (Duration) async throws -> Void
    /// Between two attempts, and for a limited rate.
    package var pause: @Sendable (Duration) async throws -> Void
    /// For jitter.
    package var randomNumber: @Sendable () -> UInt64
    /// Starts background work.
    package var spawn: @Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>

    /// - Parameter pause: `nil` for `sleep`.
    package init(
        wallClock: @escaping @Sendable () -> Date = { Date() },
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        pause: (@Sendable (Duration) async throws -> Void)? = nil,
        randomNumber: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) },
        spawn: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never> = { body in
            Task { await body() }
        }
    ) {
        self.wallClock = wallClock
        self.now = now
        self.sleep = sleep
        self.pause = pause ?? sleep
        self.randomNumber = randomNumber
        self.spawn = spawn
    }

    package struct Generator: RandomNumberGenerator {
        let randomNumber: @Sendable () -> UInt64

        package init(randomNumber: @escaping @Sendable () -> UInt64) { self.randomNumber = randomNumber }

        package func next() -> UInt64 { randomNumber() }
    }
}
