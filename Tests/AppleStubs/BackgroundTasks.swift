// What the sources use of Apple's BackgroundTasks, as its documentation declares it. Never run: for the type checker alone.
public import Foundation

@available(macOS, unavailable)
open class BGTask: NSObject {
    public var identifier: String { never() }
    public var expirationHandler: (() -> Void)?
    public func setTaskCompleted(success: Bool) { never() }
}

@available(macOS, unavailable)
public class BGProcessingTask: BGTask {}

@available(macOS, unavailable)
public class BGAppRefreshTask: BGTask {}

@available(macOS, unavailable)
open class BGTaskRequest: NSObject {
    public var identifier: String { never() }
    public var earliestBeginDate: Date?
}

@available(macOS, unavailable)
public class BGProcessingTaskRequest: BGTaskRequest {
    public init(identifier: String) { never() }
    public var requiresNetworkConnectivity: Bool = false
    public var requiresExternalPower: Bool = false
}

@available(macOS, unavailable)
public class BGAppRefreshTaskRequest: BGTaskRequest {
    public init(identifier: String) { never() }
}

@available(macOS, unavailable)
public class BGTaskScheduler: NSObject {
    public struct Error: Swift.Error {
        public enum Code: Int, Sendable {
            case unavailable = 1
            case tooManyPendingTaskRequests = 2
            case notPermitted = 3
        }
        public var code: Code { never() }
    }

    public class var shared: BGTaskScheduler { never() }
    public func register(
        forTaskWithIdentifier identifier: String, using queue: DispatchQueue?,
        launchHandler: @escaping (BGTask) -> Void
    ) -> Bool { never() }
    public func submit(_ taskRequest: BGTaskRequest) throws { never() }
    public func getPendingTaskRequests(completionHandler: @escaping @Sendable ([BGTaskRequest]) -> Void) { never() }
    public func cancel(taskRequestWithIdentifier identifier: String) { never() }
}

private func never() -> Never { preconditionFailure("a stub") }
