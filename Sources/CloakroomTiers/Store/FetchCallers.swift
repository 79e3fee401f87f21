import CloakroomKit
import Foundation

/// Those who wait for one fetch, each as long as it wants to.
///
/// `@unchecked`: a lock guards what changes.
final class FetchCallers: @unchecked Sendable {
    private struct Caller {
        let continuation: CheckedContinuation<URL, any Error>
        /// Of its timeout, where it has one.
        let number: Int?
    }

    private let timeouts: Timeouts
    private let lock = NSLock()
    private var callers: [Int: Caller] = [:]
    private var lastNumber = 0
    private var result: Result<URL, any Error>?

    init(_ timeouts: Timeouts) { self.timeouts = timeouts }

    /// Waits for the result; the caller's cancellation ends its own wait.
    ///
    /// - Parameter within: `nil` for as long as it takes.
    /// - Throws: ``CloakroomError/Code/timedOut``, what the fetch failed with, `CancellationError`.
    func wait(within: Duration?) async throws -> URL {
        let number = lock.withLock {
            lastNumber += 1
            return lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(continuation, number, within)
                // One that was cancelled before it was there to be found.
                if Task.isCancelled { leave(number, CancellationError()) }
            }
        } onCancel: {
            leave(number, CancellationError())
        }
    }

    /// All that wait get the result, and later ones get it at once.
    func end(_ result: Result<URL, any Error>) {
        let waiting = lock.withLock {
            self.result = result
            defer { callers = [:] }
            return callers.values
        }
        for caller in waiting {
            if let timeout = caller.number { timeouts.remove(timeout) }
            caller.continuation.resume(with: result)
        }
    }

    private func add(_ continuation: CheckedContinuation<URL, any Error>, _ number: Int, _ within: Duration?) {
        let known: Result<URL, any Error>? = lock.withLock {
            if let result { return result }
            let timeout = within.map { within in
                timeouts.add(after: within) { [weak self] in
                    self?.leave(number, CloakroomError(.timedOut, "the photo is still on its way"))
                }
            }
            callers[number] = Caller(continuation: continuation, number: timeout)
            return nil
        }
        if let known { continuation.resume(with: known) }
    }

    /// Does nothing for one that has its result.
    private func leave(_ number: Int, _ error: any Error) {
        guard let caller = lock.withLock({ callers.removeValue(forKey: number) }) else { return }
        if let timeout = caller.number { timeouts.remove(timeout) }
        caller.continuation.resume(throwing: error)
    }
}
