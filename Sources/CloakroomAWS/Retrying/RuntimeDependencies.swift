#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A client's clock, randomness and tasks, which tests replace.
package struct RuntimeDependencies: Sendable {
    /// For signatures and expirations.
    package var wallClock: @Sendable () -> Date
    /// For deadlines.
    package var now: @Sendable () -> ContinuousClock.Instant
    package var sleep: @Sendable (Duration) async throws -> Void
    /// For jitter.
    package var randomNumber: @Sendable () -> UInt64
    /// Starts background work.
    package var spawn: @Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>

    package init(
        wallClock: @escaping @Sendable () -> Date = { Date() },
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        randomNumber: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) },
        spawn: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never> = { body in
            Task { await body() }
        }
    ) {
        self.wallClock = wallClock
        self.now = now
        self.sleep = sleep
        self.randomNumber = randomNumber
        self.spawn = spawn
    }

    package struct Generator: RandomNumberGenerator {
        let randomNumber: @Sendable () -> UInt64

        package init(randomNumber: @escaping @Sendable () -> UInt64) { self.randomNumber = randomNumber }

        package func next() -> UInt64 { randomNumber() }
    }
}
