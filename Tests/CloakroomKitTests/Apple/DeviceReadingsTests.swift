import Testing

@testable import CloakroomKit

@Suite(.serialized) struct DeviceReadingsTests {
    @Test(arguments: [
        (true, false, false, DeviceConditions.Network.unrestricted), (true, true, false, .expensive),
        (true, false, true, .constrained), (true, true, true, .constrained), (false, false, false, .none),
        (false, true, true, .none),
    ])
    func `reads a network's path`(
        isSatisfied: Bool, isExpensive: Bool, isConstrained: Bool, expected: DeviceConditions.Network
    ) {
        let network = DeviceConditions.Network(
            isSatisfied: isSatisfied, isExpensive: isExpensive, isConstrained: isConstrained)
        #expect(network == expected)
    }

    @Test func `reads the battery of a phone`() {
        #expect(
            PowerReading(isPluggedIn: true, level: 0.5) == PowerReading(hasExternalPower: true, batteryLevel: 0.5))
        #expect(
            PowerReading(isPluggedIn: false, level: 0) == PowerReading(hasExternalPower: false, batteryLevel: 0))
        #expect(
            PowerReading(isPluggedIn: false, level: -1) == PowerReading(hasExternalPower: false, batteryLevel: nil))
    }

    @Test(arguments: [(-2.0, 1, true, nil), (-1, 1, false, nil), (7200, 2, false, 0.15), (300, 3, false, 0.05)])
    func `reads the power of a Mac`(timeRemaining: Double, warning: Int, hasExternalPower: Bool, level: Double?) {
        let reading = PowerReading(timeRemaining: timeRemaining, warning: warning)
        #expect(reading == PowerReading(hasExternalPower: hasExternalPower, batteryLevel: level))
        let conditions = DeviceConditions(
            hasExternalPower: reading.hasExternalPower, batteryLevel: reading.batteryLevel)
        let rules = TransferConditions(network: .inexpensive, minimumBatteryLevel: 0.2)
        #expect((rules.refusal(of: conditions) != nil) == (level != nil))
    }
}
