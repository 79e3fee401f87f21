import CloakroomKit
import Foundation

/// Leads to a ``TestServer``, as URLSession leads to a real one.
struct TestTransport: HTTPTransport {
    let server: TestServer

    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse {
        var sent = request
        sent.fields = try request.fieldsToSend()
        let body = try request.body.contents()
        // As on a network, others go on meanwhile.
        await Task.yield()
        if Task.isCancelled { throw .cancelled }
        let response = try server.state.withLock { state in state.outcome(of: sent, body) }.get()
        progress?(HTTPProgress(bytesSent: Int64(body.count)))
        let delivered = try response.delivered(to: request.destination)
        progress?(HTTPProgress(bytesSent: Int64(body.count), bytesReceived: delivered.byteCount))
        return delivered
    }
}
