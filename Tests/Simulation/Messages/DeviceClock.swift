import CloakroomKit
import CloakroomKitTestSupport
import CloakroomMessages
import Foundation

/// The clocks of a device: one that its user sets, and one that cannot be set, which begins anew with the device.
final class DeviceClock: Sendable {
    private struct State {
        /// Of the wall clock, beside the world's.
        var offset: Milliseconds
        var starts = 0
        /// When the device has started last, by the world's.
        var start: Milliseconds
        var settings = 0
        /// Offsets since the messenger has last written down the server's time.
        var least: Milliseconds
        var most: Milliseconds
        /// Whether the device has started since then.
        var hasStarted = false
        /// Whether the messenger has had the server's time since it is new on the device.
        var hasServerTime = false
    }

    private let state: Locked<State>

    init(offset: Milliseconds) {
        state = Locked(State(offset: offset, start: Self.truth, least: offset, most: offset))
    }

    /// The time of the world.
    static var truth: Milliseconds { Milliseconds(VirtualTime.now / 1_000_000) }

    var offset: Milliseconds { state.withLock { $0.offset } }
    /// How often the wall clock was set.
    var settings: Int { state.withLock { $0.settings } }
    /// How often the device has started since the first time.
    var starts: Int { state.withLock { $0.starts } }
    var hasServerTime: Bool { state.withLock { $0.hasServerTime } }
    /// By how much the wall clock differs from itself across a start of the device, since the server's time was written down.
    var unexplained: Milliseconds { state.withLock { $0.hasStarted ? $0.most - $0.least : 0 } }

    var wall: Date { Date() + Double(offset) / 1000 }
    /// A process sees another one after each start of the device.
    var now: ContinuousClock.Instant { ContinuousClock.now - .milliseconds(state.withLock { $0.start }) }

    func set(to offset: Milliseconds) {
        state.withLock {
            $0.offset = offset
            $0.settings += 1
            $0.least = min($0.least, offset)
            $0.most = max($0.most, offset)
        }
    }

    func restart() {
        state.withLock {
            $0.starts += 1
            $0.start = Self.truth
            $0.hasStarted = true
        }
    }

    /// Tells whether the messenger has the server's time: `false` where it is new.
    func noteServerTime(_ isKnown: Bool) { state.withLock { $0.hasServerTime = isKnown } }

    /// The server's time has been written down.
    func explain() { state.withLock { ($0.least, $0.most, $0.hasStarted) = ($0.offset, $0.offset, false) } }

    func reading(server: Date?) -> RetentionClock.Reading {
        let state = state.withLock { $0 }
        return RetentionClock.Reading(
            wall: Self.truth + state.offset, continuous: Self.truth - state.start, boot: "\(state.starts)",
            server: server.map { Milliseconds($0) })
    }
}
