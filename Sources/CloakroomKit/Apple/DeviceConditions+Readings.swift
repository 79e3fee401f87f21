extension DeviceConditions.Network {
    /// From what a path of the network says of itself: low data mode counts more than what it costs.
    init(isSatisfied: Bool, isExpensive: Bool, isConstrained: Bool) {
        guard isSatisfied else {
            self = .none
            return
        }
        self = isConstrained ? .constrained : isExpensive ? .expensive : .unrestricted
    }
}

/// Power, as the system reports it.
struct PowerReading: Sendable, Equatable {
    var hasExternalPower: Bool
    /// From 0 to 1; `nil` where it is unknown, or there is no battery.
    var batteryLevel: Double?

    init(hasExternalPower: Bool, batteryLevel: Double?) {
        self.hasExternalPower = hasExternalPower
        self.batteryLevel = batteryLevel
    }

    /// iOS: a battery whose state is unknown, as in the simulator, does not count as charging.
    ///
    /// - Parameter level: below 0 where it is unknown.
    init(isPluggedIn: Bool, level: Double) {
        hasExternalPower = isPluggedIn
        batteryLevel = level < 0 ? nil : level
    }

    /// macOS reports a level only when it is low.
    ///
    /// - Parameters:
    ///   - timeRemaining: in seconds; -2 for without end, on external power.
    ///   - warning: 2 from 22 % of the battery on, 3 from the last ten minutes on.
    init(timeRemaining: Double, warning: Int) {
        hasExternalPower = timeRemaining == -2
        switch warning {
        case 2: batteryLevel = 0.15
        case 3...: batteryLevel = 0.05
        default: batteryLevel = nil
        }
    }
}
