import Foundation
import Loop
package import Testing

/// Lets a test marked `@LoopActor` run: starts the process's loop on a thread of its own before the first of them.
package struct OnLoop: TestTrait, SuiteTrait {
    package let isRecursive = true

    private static let started: Void = {
        let thread = Thread {
            _ = LoopActor.run { await withUnsafeContinuation { (_: UnsafeContinuation<Int32, Never>) in } }
        }
        thread.start()
    }()

    package func prepare(for test: Test) async throws { Self.started }
}

extension Trait where Self == OnLoop {
    package static var onLoop: Self { Self() }
}
