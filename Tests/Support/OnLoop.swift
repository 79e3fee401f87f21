import Foundation
import CloakroomLoop
package import Testing

/// Lets a test marked `@LoopActor` run as the worker's tasks do: on the process's loop, and preferring it.
///
/// Such tests run one after the other: they share the loop, and each may count on its time.
/// The loop starts when tests are looked for, not when they run: what describes a test may be evaluated there.
package struct OnLoop: TestTrait, SuiteTrait, TestScoping {
    package let isRecursive = true

    fileprivate static let started: Void = {
        // As a worker does: a write to a reader that is gone fails, and ends no process.
        signal(SIGPIPE, SIG_IGN)
        let thread = Thread {
            _ = LoopActor.run { await withUnsafeContinuation { (_: UnsafeContinuation<Int32, Never>) in } }
        }
        thread.start()
    }()

    /// For tests that do not run on the loop, but whose servers do.
    package static func startLoop() { started }

    private static let turns = SerialGate()

    @concurrent package func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @concurrent @Sendable () async throws -> Void
    ) async throws {
        // A suite waits for nothing: its tests will.
        guard testCase != nil else { return try await body() }
        await Self.turns.take()
        do {
            try await withTaskExecutorPreference(LoopActor.shared.loop, operation: body)
        } catch {
            await Self.turns.release()
            throw error
        }
        await Self.turns.release()
    }
}

extension Trait where Self == OnLoop {
    package static var onLoop: Self {
        OnLoop.started
        return Self()
    }
}
