import CloakroomKit
import Foundation
import CloakroomScriptedTier
import Synchronization

/// Where the calls of all devices wait until the schedule lets one go on.
final class Turnstile: Sendable {
    /// How a call goes on.
    enum Outcome: Sendable, Hashable, CaseIterable {
        case success, unreachable, timedOut, unavailable

        var error: CloakroomError? {
            switch self {
            case .success: nil
            case .unreachable: CloakroomError(.unreachable, "the schedule's network is down")
            case .timedOut: CloakroomError(.timedOut, "the schedule's request takes too long")
            case .unavailable: CloakroomError(.unavailable, "the schedule's store is overloaded", status: 503)
            }
        }
    }

    private struct Waiting {
        var label: String
        var process: ProcessLife
        var continuation: CheckedContinuation<Void, any Error>
    }

    private let waiting = Mutex<[Waiting]>([])

    var count: Int { waiting.withLock { $0.count } }

    /// Waits for its turn.
    func pass(_ label: String, _ process: ProcessLife, worksOffline: Bool = false) async throws {
        guard !process.isOver else { throw Self.dead }
        guard worksOffline || !process.isOffline else { throw Outcome.unreachable.error ?? Self.dead }
        try await withCheckedThrowingContinuation { continuation in
            waiting.withLock { $0.append(Waiting(label: label, process: process, continuation: continuation)) }
        }
        guard !process.isOver else { throw Self.dead }
    }

    /// - Parameter choice: any number: it counts around those that wait.
    /// - Returns: what went on; `nil` when nothing waits.
    @discardableResult
    func release(_ choice: Int, _ outcome: Outcome) -> String? {
        let next: Waiting? = waiting.withLock { waiting in
            waiting.isEmpty ? nil : waiting.remove(at: choice % waiting.count)
        }
        guard let next else { return nil }
        if let error = outcome.error { next.continuation.resume(throwing: error) } else { next.continuation.resume() }
        return next.label
    }

    /// Whether a call of a device waits at this place.
    func hasCall(of device: Int, at place: CallPlace) -> Bool {
        waiting.withLock { waiting in
            waiting.contains {
                $0.process.device == device && $0.label.contains(": \(place.kind) ")
                    && $0.label.hasSuffix(", \(place.moment)")
            }
        }
    }

    /// Lets the first call of a device go on.
    ///
    /// - Returns: whether there was one.
    func releaseFirst(of device: Int) -> Bool {
        let next: Waiting? = waiting.withLock { waiting in
            waiting.firstIndex { $0.process.device == device }.map { waiting.remove(at: $0) }
        }
        next?.continuation.resume()
        return next != nil
    }

    /// Ends the calls of processes that are over.
    func releaseDead() {
        let dead = waiting.withLock { waiting in
            defer { waiting.removeAll { $0.process.isOver } }
            return waiting.filter { $0.process.isOver }
        }
        for call in dead { call.continuation.resume(throwing: Self.dead) }
    }

    private static let dead = CloakroomError(.cancelled, "the process is over")
}

/// What becomes of the processes of a device: they are killed together.
final class ProcessLife: Sendable {
    private struct State {
        var isOver = false
        var isOffline = false
        var kill: Kill?
        var operations = 0
    }

    /// A kill that comes when the store has written so many more steps.
    private struct Kill {
        var steps: Int
        var body: @Sendable () -> Void
    }

    let device: Int
    private let state = Mutex(State())

    init(device: Int) { self.device = device }

    /// Killed: nothing that it does from now on reaches the store, or counts.
    var isOver: Bool { state.withLock { $0.isOver } }
    var isOffline: Bool { state.withLock { $0.isOffline } }
    var isBusy: Bool { state.withLock { $0.operations > 0 } }

    func end() { state.withLock { $0.isOver = true } }
    func setOffline(_ isOffline: Bool) { state.withLock { $0.isOffline = isOffline } }
    func begin() { state.withLock { $0.operations += 1 } }
    func finish() { state.withLock { $0.operations -= 1 } }

    /// - Parameter body: keeps what is on the disk at that moment.
    func end(afterSteps steps: Int, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.kill = Kill(steps: steps, body: body) }
    }

    /// The store has written something.
    func step() {
        let body: (@Sendable () -> Void)? = state.withLock { state in
            guard !state.isOver, let kill = state.kill else { return nil }
            state.kill?.steps -= 1
            guard kill.steps <= 1 else { return nil }
            state.isOver = true
            return kill.body
        }
        body?()
    }
}
