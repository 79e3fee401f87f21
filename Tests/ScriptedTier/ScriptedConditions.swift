package import CloakroomKit
import Synchronization

/// Power and network as a test sets them.
package final class ScriptedConditions: RunConditions {
    private let value: Mutex<DeviceConditions>
    private let gate: @Sendable () async -> Void

    /// - Parameter gate: passed at each look at the conditions.
    package init(_ value: DeviceConditions = DeviceConditions(), gate: @escaping @Sendable () async -> Void = {}) {
        self.value = Mutex(value)
        self.gate = gate
    }

    package func set(_ conditions: DeviceConditions) { value.withLock { $0 = conditions } }

    package func current() async -> DeviceConditions {
        await gate()
        return value.withLock { $0 }
    }
}
