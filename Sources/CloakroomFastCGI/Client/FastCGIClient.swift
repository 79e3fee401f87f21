package import CloakroomConnections
package import CloakroomHTTP
package import CloakroomLoop

/// Sends requests straight to a worker, as nginx does: on connections that are kept, each with one request at a time.
@LoopActor
package final class FastCGIClient: ExchangeClient {
    private let pool: ConnectionPool
    private static let maximumResponseBytes = 1 << 20

    /// - Parameter maximumConnections: requests beyond so many wait for one that ends.
    package init(_ address: ListenAddress, maximumConnections: Int = 1) {
        let server: ServerAddress =
            switch address {
            case .unix(let path): .unix(path: path)
            case .internet(let host, let port): .internet(host: host, port: port)
            }
        pool = ConnectionPool([server], maximumConnections: maximumConnections) {
            ResponseReader(maximumBytes: Self.maximumResponseBytes)
        }
    }

    package var maximumConnections: Int { pool.maximumConnections }

    /// - Parameter timeout: for the whole exchange, with the wait for a connection.
    package func send(_ request: UpstreamRequest, timeout: Duration, then completion: @escaping Completion) {
        pool.send(RequestEncoder.bytes(request, keepsConnection: true), timeout: timeout, then: completion)
    }

    package func send(_ request: UpstreamRequest, timeout: Duration) async throws(ExchangeError) -> UpstreamResponse {
        try await pool.send(RequestEncoder.bytes(request, keepsConnection: true), timeout: timeout)
    }
}
