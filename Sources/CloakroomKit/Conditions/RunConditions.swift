/// What the device can afford now, looked at before each transfer of work in the background.
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

extension DeviceConditions {
    /// Those of the device on Apple's systems; on others everything is allowed.
    package static var ofThisDevice: any RunConditions {
        #if canImport(Network)
            AppleRunConditions()
        #else
            UnrestrictedConditions()
        #endif
    }
}
