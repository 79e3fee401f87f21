import Foundation
import Loop
package import Testing

/// Lets a test marked `@LoopActor` run as the worker's tasks do: on the process's loop, and preferring it.
///
/// The loop starts when tests are looked for, not when they run: what describes a test may be evaluated there.
package struct OnLoop: TestTrait, SuiteTrait, TestScoping {
    package let isRecursive = true

    fileprivate static let started: Void = {
        let thread = Thread {
            _ = LoopActor.run { await withUnsafeContinuation { (_: UnsafeContinuation<Int32, Never>) in } }
        }
        thread.start()
    }()

    @concurrent package func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(LoopActor.shared.loop, operation: body)
    }
}

extension Trait where Self == OnLoop {
    package static var onLoop: Self {
        OnLoop.started
        return Self()
    }
}
