package import CloakroomHTTP
package import CloakroomLoop

/// Why a server gave no response.
package enum ExchangeError: Error, Sendable, Equatable {
    /// With the system's word for it.
    case unreachable(SystemError)
    case timeout
    /// The connection ended before the response was whole.
    case interrupted
    /// What came is no response of the protocol.
    case malformed
    case tooLarge
}

/// Sends requests without a task for each: a load test's are too many for that.
@LoopActor
package protocol ExchangeClient: AnyObject {
    typealias Completion = @LoopActor (Result<UpstreamResponse, ExchangeError>) -> Void

    /// Requests beyond so many wait for one that ends.
    var maximumConnections: Int { get }

    /// - Parameters:
    ///   - timeout: for the whole exchange, with the wait for a connection.
    ///   - completion: runs once.
    func send(_ request: UpstreamRequest, timeout: Duration, then completion: @escaping Completion)
}

/// One request on its way, and who is told of its response.
@LoopActor
final class Exchange {
    /// Of the request.
    let bytes: [UInt8]
    var timer: TimerID?
    weak var connection: PooledConnection?
    var completion: ExchangeClient.Completion?
    /// Addresses before this one have refused the request's connections.
    var firstAddress = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isComplete: Bool { completion == nil }

    func complete(_ result: Result<UpstreamResponse, ExchangeError>) { completion.take()?(result) }
}
