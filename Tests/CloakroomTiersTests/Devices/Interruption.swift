import CloakroomKit
import CloakroomScriptedTier
import Synchronization
import Testing

/// What a test does in the middle of requests.
final class Interruption: Sendable {
    private struct State {
        var stepsLeft = Int.max
        var check: @Sendable () throws -> Void = {}
        var actions: [TierCall.Kind: @Sendable () async throws -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Fails every call after so many steps, as the end of a process does; `check` runs after each change of the documents.
    func end(afterSteps steps: Int, check: @escaping @Sendable () throws -> Void) {
        state.withLock { ($0.stepsLeft, $0.check) = (steps, check) }
    }

    /// Once, after the next request of that kind was done.
    func set(on kind: TierCall.Kind, _ action: @escaping @Sendable () async throws -> Void) {
        state.withLock { $0.actions[kind] = action }
    }

    var gate: TierGate {
        { [self] call, moment in
            let (check, isOver, action) = state.withLock { state in
                if state.stepsLeft != .max { state.stepsLeft -= 1 }
                let action = moment == .after ? state.actions.removeValue(forKey: call.kind) : nil
                return (state.check, state.stepsLeft < 0, action)
            }
            if moment == .after, call.kind == .putDocument || call.kind == .deleteDocument { try check() }
            try await action?()
            if isOver { throw CloakroomError.scriptedOutage }
        }
    }
}
