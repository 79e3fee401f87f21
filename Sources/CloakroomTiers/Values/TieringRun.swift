import CloakroomKit

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
        TransferConditions(
            network: NetworkAccess(
                allowsExpensive: allowsExpensiveNetwork, allowsConstrained: allowsConstrainedNetwork),
            requiresExternalPower: requiresExternalPower, minimumBatteryLevel: minimumBatteryLevel
        ).refusal(of: conditions)
    }
}
