import CloakroomKit
import Testing

@testable import CloakroomTiers

@Suite(.serialized) struct TieringRunTests {
    @Test func `a run in the background needs power and a network that costs nothing`() {
        let run = TieringRun.background
        #expect(run.refusal(of: DeviceConditions()) == nil)
        #expect(run.refusal(of: DeviceConditions(hasExternalPower: false)) != nil)
        #expect(run.refusal(of: DeviceConditions(network: .expensive)) != nil)
        #expect(run.refusal(of: DeviceConditions(network: .constrained)) != nil)
        #expect(run.refusal(of: DeviceConditions(network: .none)) != nil)
    }

    @Test(arguments: [(0.19, false), (0.2, true), (nil, true)])
    func `a run at launch pauses below a fifth of the battery`(level: Double?, runs: Bool) {
        let conditions = DeviceConditions(hasExternalPower: false, batteryLevel: level)
        #expect((TieringRun.launch.refusal(of: conditions) == nil) == runs)
    }

    @Test func `a run that the user started takes whatever network there is`() {
        let run = TieringRun.manual
        let conditions = DeviceConditions(hasExternalPower: false, batteryLevel: 0.05, network: .expensive)
        #expect(run.refusal(of: conditions) == nil)
        #expect(run.refusal(of: DeviceConditions(network: .none)) != nil)
    }
}
