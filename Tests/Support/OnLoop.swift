import Foundation
import Loop
package import Testing

/// Lets a test marked `@LoopActor` run: starts the process's loop on a thread of its own.
///
/// It starts when tests are looked for, not when they run: what describes a test on the loop may be evaluated there.
package struct OnLoop: TestTrait, SuiteTrait {
    package let isRecursive = true

    fileprivate static let started: Void = {
        let thread = Thread {
            _ = LoopActor.run { await withUnsafeContinuation { (_: UnsafeContinuation<Int32, Never>) in } }
        }
        thread.start()
    }()
}

extension Trait where Self == OnLoop {
    package static var onLoop: Self {
        OnLoop.started
        return Self()
    }
}
