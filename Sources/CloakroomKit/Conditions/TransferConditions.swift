/// Which networks, and how much power, work in the background may use.
public struct TransferConditions: Sendable, Equatable {
    public var network: NetworkAccess
    public var requiresExternalPower: Bool
    /// From 0 to 1: below it nothing is transferred without external power.
    public var minimumBatteryLevel: Double

    public init(
        network: NetworkAccess = .unrestricted, requiresExternalPower: Bool = false, minimumBatteryLevel: Double = 0
    ) {
        self.network = network
        self.requiresExternalPower = requiresExternalPower
        self.minimumBatteryLevel = minimumBatteryLevel
    }

    /// Why nothing may be transferred now; `nil` when it may.
    package func refusal(of conditions: DeviceConditions) -> String? {
        do {
            try check(conditions)
            return nil
        } catch {
            return error.message
        }
    }

    /// - Throws: ``CloakroomError/Code/notAllowedNow`` where the network may not be used, and
    ///   ``CloakroomError/Code/lowPower``.
    func check(_ conditions: DeviceConditions) throws(CloakroomError) {
        switch conditions.network {
        case .none: throw CloakroomError(.notAllowedNow, "there is no network")
        case .constrained where !network.allowsConstrained:
            throw CloakroomError(.notAllowedNow, "the network is in low data mode")
        case .expensive where !network.allowsExpensive: throw CloakroomError(.notAllowedNow, "the network costs money")
        default: break
        }
        if conditions.hasExternalPower { return }
        if requiresExternalPower { throw CloakroomError(.lowPower, "the device runs on its battery") }
        if let level = conditions.batteryLevel, level < minimumBatteryLevel {
            throw CloakroomError(.lowPower, "the battery is low")
        }
    }
}
