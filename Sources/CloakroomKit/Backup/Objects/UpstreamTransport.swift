import CloakroomAWS
import Foundation
import CloakroomHTTP

/// Sends what `CloakroomAWS` has signed through the app's transport.
struct UpstreamTransport: Transport {
    let transport: any HTTPTransport

    func send(
        _ request: consuming UpstreamRequest, timeout: Duration
    ) async throws(TransportError) -> UpstreamResponse {
        let body = request.body.isEmpty ? HTTPBody.none : .bytes(Data(request.body))
        guard
            let request = HTTPRequest(
                request, body: body, destination: .memory(maximumBytes: ObjectPage.maximumBytes), timeout: timeout)
        else { throw .invalidRequest }
        do { return UpstreamResponse(try await transport.send(request)) } catch { throw TransportError(error) }
    }
}

extension HTTPRequest {
    /// - Returns: `nil` when its URL is none.
    init?(_ request: UpstreamRequest, body: HTTPBody, destination: HTTPDestination, timeout: Duration) {
        guard let url = URL(string: request.url) else { return nil }
        // The transport adds the host itself; it is the one that was signed.
        let fields = request.fields.lazy.filter { $0.name != "host" }.map { (name: $0.name, value: $0.value) }
        self.init(
            method: request.method, url: url, fields: Array(fields), body: body, destination: destination,
            timeout: timeout)
    }
}

extension UpstreamResponse {
    init(_ response: HTTPResponse) {
        var fields: HeaderFields = [:]
        for field in response.fields { fields.add(field.name, field.value) }
        self.init(status: response.status, fields: fields, body: Array(response.body))
    }
}

extension TransportError {
    fileprivate init(_ error: HTTPTransportError) {
        switch error {
        case .untrusted: self = .untrusted
        case .timedOut: self = .timeout
        // A content coding that was not requested; another attempt may come without it.
        case .interrupted, .encoded: self = .interrupted
        case .tooLarge: self = .tooLarge
        case .invalidRequest, .unreadableFile, .unwritableFile: self = .invalidRequest
        case .unreachable: self = .unreachable
        case .notAllowedNow: self = .notAllowedNow
        case .cancelled: self = .cancelled
        }
    }
}
