import Dispatch
import Foundation

/// Opens once; whoever waits gives up after ten seconds.
package struct Latch: Sendable {
    private let group = DispatchGroup()

    /// - Parameter count: how many times it must be opened.
    package init(_ count: Int = 1) { for _ in 0..<count { group.enter() } }

    package func open() { group.leave() }

    /// Blocks the thread.
    ///
    /// - Returns: whether it has been opened.
    @discardableResult
    package func wait() -> Bool { group.wait(timeout: .now() + 10) == .success }
}

/// Runs what may block on a thread of its own: neither the loop nor Swift's pool waits for it.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result { try body() }) }
        thread.start()
    }
}
