// What the sources use of Apple's Network, as its documentation declares it. Never run: for the type checker alone.
public import Dispatch

public struct NWPath: Sendable {
    public enum Status: Sendable {
        case satisfied, unsatisfied, requiresConnection
    }
    public var status: Status { never() }
    public var isExpensive: Bool { never() }
    public var isConstrained: Bool { never() }
}

public final class NWPathMonitor: @unchecked Sendable {
    public init() { never() }
    public var currentPath: NWPath { never() }
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public func start(queue: DispatchQueue) { never() }
    public func cancel() { never() }
}

private func never() -> Never { preconditionFailure("a stub") }
