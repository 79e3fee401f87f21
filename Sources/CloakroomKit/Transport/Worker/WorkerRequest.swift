import CloakroomAWS
import CloakroomCrypto
import CloakroomWire
import Foundation

/// A request to the worker, before it has a token.
struct WorkerRequest: Sendable {
    enum Authorization: Sendable {
        /// The app's token, requested when it is needed.
        case provided
        case session(Secret)
        case none
    }

    var route: Route
    /// In place of the route's `{id}`.
    var id: String?
    /// Not yet encoded.
    var query: [(name: String, value: String)] = []
    /// JSON.
    var body: [UInt8]?
    var authorization = Authorization.provided
    /// Whether it is idempotent, so that it may be sent again when its outcome is unknown.
    var isRepeatable = true
    var maximumAttempts = Int.max

    /// - Parameter endpoint: the worker's address; a path of it goes before the route's.
    /// - Returns: `nil` when the endpoint is no address.
    func httpRequest(to endpoint: URL, token: (name: String, value: String)?, timeout: Duration) -> HTTPRequest? {
        guard let url = url(from: endpoint) else { return nil }
        var fields = [(name: "Accept", value: "application/json")]
        if body != nil { fields.append(("Content-Type", "application/json")) }
        if let token { fields.append(token) }
        return HTTPRequest(
            method: route.method, url: url, fields: fields, body: body.map { .bytes(Data($0)) } ?? .none,
            destination: .memory(maximumBytes: 4 << 20), timeout: timeout, idleTimeout: timeout)
    }

    private func url(from endpoint: URL) -> URL? {
        guard let parts = URLComponents(url: endpoint, resolvingAgainstBaseURL: true),
            parts.scheme == "https" || parts.scheme == "http", parts.host?.isEmpty == false, parts.query == nil,
            parts.fragment == nil
        else { return nil }
        var text = parts.string ?? ""
        while text.hasSuffix("/") { text.removeLast() }
        text += route.rawValue.replacingOccurrences(of: "{id}", with: PercentEncoding.encode(id ?? ""))
        if !query.isEmpty {
            text += "?" + query.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        }
        return URL(string: text)
    }
}
