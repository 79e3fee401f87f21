// What the sources use of Apple's UIKit, as its documentation declares it. Never run: for the type checker alone.
public import Foundation

@available(macOS, unavailable)
@MainActor public final class UIDevice: NSObject {
    public enum BatteryState: Int, Sendable {
        case unknown, unplugged, charging, full
    }
    public class var current: UIDevice { preconditionFailure("a stub") }
    public var isBatteryMonitoringEnabled: Bool = false
    public var batteryState: BatteryState { preconditionFailure("a stub") }
    public var batteryLevel: Float { preconditionFailure("a stub") }
}
