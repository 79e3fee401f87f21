/// What the device can afford now, looked at before each photo of a run.
public protocol RunConditions: Sendable {
    func current() async -> DeviceConditions
}

/// Power and network at one moment.
public struct DeviceConditions: Sendable, Equatable {
    public enum Network: Sendable, Hashable {
        case none
        /// In low data mode.
        case constrained
        /// Costs money by the byte, such as a mobile network.
        case expensive
        case unrestricted
    }

    public var hasExternalPower: Bool
    /// From 0 to 1; `nil` where there is no battery.
    public var batteryLevel: Double?
    public var network: Network

    public init(hasExternalPower: Bool = true, batteryLevel: Double? = nil, network: Network = .unrestricted) {
        self.hasExternalPower = hasExternalPower
        self.batteryLevel = batteryLevel
        self.network = network
    }
}

/// A device that can always afford everything: a server, or a test.
public struct UnrestrictedConditions: RunConditions {
    public init() {}

    public func current() async -> DeviceConditions { DeviceConditions() }
}

/// What a run may use: more when the user started it than in the background.
public struct TieringRun: Sendable, Equatable {
    public var requiresExternalPower: Bool
    /// Below it nothing is transferred without external power.
    public var minimumBatteryLevel: Double
    public var allowsExpensiveNetwork: Bool
    public var allowsConstrainedNetwork: Bool
    /// Of what is uploaded; `nil` for as fast as it goes.
    public var bytesPerSecond: Int?

    public init(
        requiresExternalPower: Bool, minimumBatteryLevel: Double = 0.2, allowsExpensiveNetwork: Bool = false,
        allowsConstrainedNetwork: Bool = false, bytesPerSecond: Int? = nil
    ) {
        self.requiresExternalPower = requiresExternalPower
        self.minimumBatteryLevel = minimumBatteryLevel
        self.allowsExpensiveNetwork = allowsExpensiveNetwork
        self.allowsConstrainedNetwork = allowsConstrainedNetwork
        self.bytesPerSecond = bytesPerSecond
    }

    /// Plugged in, on a network that costs nothing.
    public static let background = TieringRun(requiresExternalPower: true)
    /// On a network that costs nothing, with a fifth of the battery left.
    public static let launch = TieringRun(requiresExternalPower: false)
    /// The user started it: on any network there is.
    public static let manual = TieringRun(
        requiresExternalPower: false, minimumBatteryLevel: 0, allowsExpensiveNetwork: true,
        allowsConstrainedNetwork: true)

    /// Why nothing may be transferred now; `nil` when it may.
    func refusal(of conditions: DeviceConditions) -> String? {
        switch conditions.network {
        case .none: return "there is no network"
        case .constrained where !allowsConstrainedNetwork: return "the network is in low data mode"
        case .expensive where !allowsExpensiveNetwork: return "the network costs money"
        default: break
        }
        if conditions.hasExternalPower { return nil }
        if requiresExternalPower { return "the device runs on its battery" }
        if let level = conditions.batteryLevel, level < minimumBatteryLevel { return "the battery is low" }
        return nil
    }
}
