package import CloakroomHTTP
package import CloakroomLoop

/// Sends requests to one server over HTTP/1.1 without TLS, and tells the statuses of its responses.
///
/// It is for load tests, of which libcurl was more than half of what a request cost. It follows libcurl in what is a response
/// and what is none; it does without HEAD, proxies, and the contents of responses.
/// Source: RFC 9112.
@LoopActor
package final class PlainHTTPClient: ExchangeClient {
    private let pool: ConnectionPool
    private let head: PlainHTTPRequestHead

    /// - Parameters:
    ///   - authority: host and port as the URL has them, for the field `host`.
    ///   - addresses: of the host.
    ///   - maximumConnections: requests beyond so many wait for one that ends.
    package init(authority: String, addresses: [ServerAddress], maximumConnections: Int) {
        head = PlainHTTPRequestHead(authority: authority)
        pool = ConnectionPool(addresses, maximumConnections: maximumConnections) { PlainHTTPResponseReader() }
    }

    package var maximumConnections: Int { pool.maximumConnections }

    /// - Parameters:
    ///   - request: of any method but HEAD; its origin is not looked at. One that cannot be sent is malformed.
    ///   - completion: is given a response without fields and body.
    package func send(_ request: UpstreamRequest, timeout: Duration, then completion: @escaping Completion) {
        guard let bytes = head.bytes(request) else { return completion(.failure(.malformed)) }
        pool.send(bytes, timeout: timeout, then: completion)
    }
}
