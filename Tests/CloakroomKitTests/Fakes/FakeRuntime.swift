import CloakroomAWS
import Foundation
import Synchronization

/// Time that passes only when somebody sleeps or the test says so, and dice that always show the same.
final class FakeRuntime: Sendable {
    /// What a sleep does.
    enum Sleeping: Sendable {
        /// Ends at once, and that much time has passed.
        case advances
        /// Ends when the test has let enough time pass.
        case waits
    }

    private struct Sleeper {
        let end: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var elapsed = Duration.zero
        var sleeps: [Duration] = []
        var sleepers: [Int: Sleeper] = [:]
        var lastSleeper = 0
        var tasks: [Task<Void, Never>] = []
        var randomNumber = UInt64.max
        var skew = Duration.zero
    }

    private let state = Mutex(State())
    private let start = ContinuousClock.now
    private let wallStart: Date
    private let sleeping: Sleeping

    /// - Parameter time: what our clock shows at first; `2026-11-20T14:00:00Z`.
    init(time: Int = 1_795_183_200, sleeping: Sleeping = .advances) {
        wallStart = Date(timeIntervalSince1970: Double(time))
        self.sleeping = sleeping
    }

    /// The longest delays that jitter allows, unless ``roll(_:)`` said otherwise.
    var runtime: RuntimeDependencies {
        RuntimeDependencies(
            wallClock: { self.wallTime },
            now: { self.now },
            sleep: { try await self.sleep($0) },
            randomNumber: { self.state.withLock { $0.randomNumber } },
            spawn: { body in
                let task = Task { await body() }
                self.state.withLock { $0.tasks.append(task) }
                return task
            })
    }

    var wallTime: Date {
        let (elapsed, skew) = state.withLock { ($0.elapsed, $0.skew) }
        return wallStart.addingTimeInterval((elapsed + skew) / .seconds(1))
    }

    var now: ContinuousClock.Instant { start.advanced(by: elapsed) }
    var elapsed: Duration { state.withLock { $0.elapsed } }
    /// What was slept, in the order in which it began.
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    func pass(_ duration: Duration) {
        let woken = state.withLock { state in
            state.elapsed += duration
            let due = state.sleepers.filter { $0.value.end <= state.elapsed }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.end < $1.end }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Somebody sets the wall clock; no time passes.
    func setWallClock(ahead duration: Duration) { state.withLock { $0.skew = duration } }

    /// - Parameter number: not 0, of which Swift's `random(in:)` would ask for another one for ever.
    func roll(_ number: UInt64) { state.withLock { $0.randomNumber = number } }

    /// Waits for what was started and nobody waited for.
    func settle() async {
        for task in state.withLock({ $0.tasks }) { await task.value }
    }

    private func sleep(_ duration: Duration) async throws {
        try Task.checkCancellation()
        if sleeping == .advances {
            state.withLock { $0.sleeps.append(duration) }
            return pass(duration)
        }
        let number = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ends: Result<Void, any Error>? = state.withLock { state in
                    state.sleeps.append(duration)
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if duration <= .zero { return .success(()) }
                    state.sleepers[number] = Sleeper(end: state.elapsed + duration, continuation: continuation)
                    return nil
                }
                if let ends { continuation.resume(with: ends) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: number) }?.continuation.resume(
                throwing: CancellationError())
        }
    }
}
