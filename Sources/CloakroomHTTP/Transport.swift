/// A request of ours to STS or S3.
package struct UpstreamRequest: Sendable, Equatable {
    package var method: String
    /// Scheme, host and port, such as `https://sts.eu-central-1.amazonaws.com`.
    package var origin: String
    /// Path and query, sent byte for byte: path segments are not normalised. Empty means `/`.
    package var target: String
    package var fields: HeaderFields
    package var body: [UInt8]

    package init(method: String, origin: String, target: String, fields: HeaderFields = [:], body: [UInt8] = []) {
        self.method = method
        self.origin = origin
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// - Parameter url: absolute; one that is not is refused by the transport.
    package init(method: String, url: String, fields: HeaderFields = [:], body: [UInt8] = []) {
        let (origin, target) = url.originAndTarget ?? (url, "")
        self.init(method: method, origin: origin, target: target, fields: fields, body: body)
    }

    package var url: String { origin + target }
}

extension String {
    /// A URL in two: scheme, host and port; and path and query as they are, with a slash before them. A fragment is of
    /// neither, since it is not sent.
    ///
    /// - Returns: `nil` for no absolute URL.
    package var originAndTarget: (origin: String, target: String)? {
        guard let authority = firstRange(of: "://")?.upperBound else { return nil }
        let url = self[..<(self[authority...].firstIndex(of: "#") ?? endIndex)]
        let end = url[authority...].firstIndex { $0 == "/" || $0 == "?" } ?? url.endIndex
        let target = url[end...]
        return (String(url[..<end]), target.first == "/" ? String(target) : "/\(target)")
    }
}

/// A whole response of STS or S3.
package struct UpstreamResponse: Sendable, Equatable {
    package var status: Int
    package var fields: HeaderFields
    package var body: [UInt8]

    package init(status: Int, fields: HeaderFields = [:], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

/// Why there is no whole response.
package enum TransportError: Error, Sendable, Equatable {
    /// The name did not resolve, or the connection was refused.
    case unreachable
    /// The certificate or its name was not acceptable; trying again changes nothing.
    case untrusted
    /// No whole response within the timeout.
    case timeout
    /// The connection broke, in its TLS handshake or before the response was whole.
    case interrupted
    /// The response was larger than one of STS or S3 may be.
    case tooLarge
    case cancelled
    /// No network may be used that there is now.
    case notAllowedNow
    /// The request itself cannot be sent, such as a URL that is none.
    case invalidRequest
}

/// One try at one request: no retries, no redirects, no cookies.
package protocol Transport: Sendable {
    /// - Parameters:
    ///   - request: consumed, so that it need not be held while the response is awaited.
    ///   - timeout: for the whole exchange, name resolution included.
    func send(_ request: consuming UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse
}
