import Foundation

/// Ends waits by the clock, with one timer for all of them.
///
/// A timer for each wait would wake another thread at its begin and at its end, and few waits last as long as they may.
///
/// `@unchecked`: a lock guards what changes.
final class Timeouts: @unchecked Sendable {
    private struct Wait {
        let end: ContinuousClock.Instant
        let action: @Sendable () -> Void
    }

    private let lock = NSLock()
    private var waits: [Int: Wait] = [:]
    private var lastNumber = 0
    private var timer: (end: ContinuousClock.Instant, task: Task<Void, Never>)?

    deinit { timer?.task.cancel() }

    var isEmpty: Bool { lock.withLock { waits.isEmpty } }

    /// - Parameter action: run after that, unless it is removed before; from any thread.
    /// - Returns: its number.
    func add(after duration: Duration, _ action: @escaping @Sendable () -> Void) -> Int {
        let end = ContinuousClock.now + duration
        return lock.withLock {
            lastNumber += 1
            waits[lastNumber] = Wait(end: end, action: action)
            setTimer(end)
            return lastNumber
        }
    }

    /// The timer stays: the next wait will most likely need it.
    func remove(_ number: Int) { lock.withLock { waits[number] = nil } }

    /// Under the lock.
    private func setTimer(_ end: ContinuousClock.Instant) {
        if let timer, timer.end <= end { return }
        timer?.task.cancel()
        // Not of the priority of the one who happens to wait first.
        let task = Task.detached(priority: .high) { [weak self] in
            do { try await Task.sleep(until: end, clock: .continuous) } catch { return }
            self?.run()
        }
        timer = (end, task)
    }

    private func run() {
        let now = ContinuousClock.now
        let due = lock.withLock {
            timer = nil
            let due = waits.filter { $0.value.end <= now }
            for number in due.keys { waits[number] = nil }
            if let next = waits.values.map(\.end).min() { setTimer(next) }
            return due
        }
        for wait in due.values { wait.action() }
    }
}
