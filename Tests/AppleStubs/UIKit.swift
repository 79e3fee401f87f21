// What the sources and articles use of Apple's UIKit, as its documentation declares it. Never run: for the type checker alone.
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

/// https://developer.apple.com/documentation/uikit/uiapplication
@MainActor public class UIApplication: NSObject {
    public struct LaunchOptionsKey: Hashable, Sendable {}
}

/// https://developer.apple.com/documentation/uikit/uiapplicationdelegate; there, its methods are optional.
@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void)
}
extension UIApplicationDelegate {
    public func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool { preconditionFailure("a stub") }
    public func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) { preconditionFailure("a stub") }
}

/// https://developer.apple.com/documentation/uikit/uiimage
public class UIImage: NSObject, @unchecked Sendable {
    public init?(data: Data) { preconditionFailure("a stub") }
    public init?(contentsOfFile path: String) { preconditionFailure("a stub") }
    public func byPreparingForDisplay() async -> UIImage? { preconditionFailure("a stub") }
}
