#if canImport(Network)
    import Dispatch
    import Network
    #if os(macOS)
        import IOKit.ps
    #elseif canImport(UIKit)
        import UIKit
    #endif

    /// Power and network of an Apple device.
    ///
    /// Low data mode and paths that cost money come from the system's settings. On macOS the level of the battery is
    /// known only when the system warns of it. A watch is taken to run on its battery, with an unknown level.
    public final class AppleRunConditions: RunConditions {
        private let monitor = NWPathMonitor()
        /// Ends with the first path: before it, the monitor knows none.
        private let isReady: Task<Void, Never>

        public init() {
            let (updates, ready) = AsyncStream<Void>.makeStream()
            monitor.pathUpdateHandler = { _ in ready.finish() }
            isReady = Task { for await _ in updates {} }
            monitor.start(queue: DispatchQueue(label: "cloakroom.network"))
        }

        deinit { monitor.cancel() }

        public func current() async -> DeviceConditions {
            await isReady.value
            let path = monitor.currentPath
            let power = await Self.power()
            return DeviceConditions(
                hasExternalPower: power.hasExternalPower, batteryLevel: power.batteryLevel,
                network: DeviceConditions.Network(
                    isSatisfied: path.status == .satisfied, isExpensive: path.isExpensive,
                    isConstrained: path.isConstrained))
        }

        #if os(macOS)
            private static func power() async -> PowerReading {
                PowerReading(
                    timeRemaining: IOPSGetTimeRemainingEstimate(), warning: Int(IOPSGetBatteryWarningLevel().rawValue))
            }
        #elseif os(tvOS)
            private static func power() async -> PowerReading {
                PowerReading(hasExternalPower: true, batteryLevel: nil)
            }
        #elseif canImport(UIKit) && !os(watchOS)
            @MainActor private static func power() async -> PowerReading {
                let device = UIDevice.current
                // Without it, the state is unknown; to switch it off again could be against the app's will.
                device.isBatteryMonitoringEnabled = true
                let isPluggedIn: Bool
                switch device.batteryState {
                case .charging, .full: isPluggedIn = true
                default: isPluggedIn = false
                }
                return PowerReading(isPluggedIn: isPluggedIn, level: Double(device.batteryLevel))
            }
        #else
            private static func power() async -> PowerReading {
                PowerReading(hasExternalPower: false, batteryLevel: nil)
            }
        #endif
    }
#endif
