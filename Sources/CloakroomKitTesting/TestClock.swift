import CloakroomAWS
import Foundation

/// Time that passes when the test, or a pause between the kit's attempts, says so.
///
/// `@unchecked`: a lock guards what changes.
final class TestClock: @unchecked Sendable {
    private struct Sleeper {
        let end: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private let lock = NSLock()
    private let start: Date
    private let instantAtStart = ContinuousClock.now
    private var elapsed = Duration.zero
    private var sleepers: [Int: Sleeper] = [:]
    private var lastSleeper = 0

    init(_ start: Date) { self.start = start }

    private var elapsedNow: Duration { lock.withLock { elapsed } }

    /// One that seconds since 1970 say exactly: what was stored at this instant is not later than it.
    var date: Date { Date(timeIntervalSince1970: start.timeIntervalSince1970 + elapsedNow / .seconds(1)) }

    func advance(by duration: Duration) {
        let woken = lock.withLock {
            elapsed += max(.zero, duration)
            let due = sleepers.filter { $0.value.end <= elapsed }
            for number in due.keys { sleepers[number] = nil }
            return due.values.sorted { $0.end < $1.end }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    var runtime: RuntimeDependencies {
        RuntimeDependencies(
            wallClock: { self.date }, now: { self.instantAtStart.advanced(by: self.elapsedNow) },
            sleep: { try await self.sleep($0) }, pause: { try await self.pause($0) })
    }

    /// Ends at once, and that much time has passed.
    private func pause(_ duration: Duration) async throws {
        try Task.checkCancellation()
        advance(by: duration)
    }

    /// Ends when enough time has passed.
    private func sleep(_ duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > .zero else { return }
        let number = lock.withLock {
            lastSleeper += 1
            return lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = lock.withLock {
                    guard !Task.isCancelled else { return true }
                    sleepers[number] = Sleeper(end: elapsed + duration, continuation: continuation)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            lock.withLock { sleepers.removeValue(forKey: number) }?.continuation.resume(throwing: CancellationError())
        }
    }
}
