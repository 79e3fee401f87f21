public import Foundation

/// How the kit sends HTTP requests: one attempt at each, without retries, redirects, cookies or caches.
///
/// ``URLSessionTransport`` is the one for apps; tests bring their own.
public protocol HTTPTransport: Sendable {
    /// - Parameter progress: called with how many bytes of the body were sent, and of the response received, so far;
    ///   from any thread.
    /// - Throws: ``HTTPTransportError`` when no whole response came. A response with an error's status is a response.
    func send(
        _ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?
    ) async throws(HTTPTransportError) -> HTTPResponse
}

extension HTTPTransport {
    public func send(_ request: HTTPRequest) async throws(HTTPTransportError) -> HTTPResponse {
        try await send(request, progress: nil)
    }
}

/// A request, ready to go: signed, if it is to be.
public struct HTTPRequest: Sendable {
    public var method: String
    /// Absolute. Path and query go out byte for byte; a path with a segment `.` or `..` cannot.
    public var url: URL
    /// Names and values, as they are to be sent; the transport adds `Host` and `Content-Length`. The case of names may change.
    public var fields: [(name: String, value: String)]
    public var body: HTTPBody
    public var destination: HTTPDestination
    /// For the whole exchange.
    public var timeout: Duration
    /// How long there may be no progress.
    public var idleTimeout: Duration

    public init(
        method: String, url: URL, fields: [(name: String, value: String)] = [], body: HTTPBody = .none,
        destination: HTTPDestination = .memory(maximumBytes: 4 << 20), timeout: Duration = .seconds(30),
        idleTimeout: Duration = .seconds(30)
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.destination = destination
        self.timeout = timeout
        self.idleTimeout = idleTimeout
    }
}

/// What a request carries.
public enum HTTPBody: Sendable, Equatable {
    case none
    case bytes(Data)
    /// Bytes of a file, read as they go out; they must not change meanwhile.
    case file(URL, Range<Int64>)

    public var byteCount: Int64 {
        switch self {
        case .none: 0
        case .bytes(let data): Int64(data.count)
        case .file(_, let range): Int64(range.count)
        }
    }
}

/// Where the body of a response goes.
public enum HTTPDestination: Sendable, Equatable {
    /// A longer one is ``HTTPTransportError/tooLarge``.
    case memory(maximumBytes: Int)
    /// Written to this file from this offset on, for a status of 200 to 299; the body of any other response stays in memory,
    /// up to 64 KiB of it. The file must exist, and is no symbolic link.
    case file(URL, offset: Int64)
}

/// What came back.
public struct HTTPResponse: Sendable {
    public var status: Int
    /// As they came, as far as the system hands them out: URLSession may change the case of names, and joins the values of
    /// one name with `, `.
    public var fields: [(name: String, value: String)]
    /// Empty when it went to a file.
    public var body: Data
    /// Of the body, wherever it went.
    public var byteCount: Int64

    public init(status: Int, fields: [(name: String, value: String)] = [], body: Data = Data(), byteCount: Int64? = nil)
    {
        self.status = status
        self.fields = fields
        self.body = body
        self.byteCount = byteCount ?? Int64(body.count)
    }

    /// The first value under a name, whatever its case (RFC 9110 §5.1).
    public subscript(name: String) -> String? {
        fields.first { $0.name.caseInsensitiveCompare(name) == .orderedSame }?.value
    }
}

/// How far an exchange is.
public struct HTTPProgress: Sendable, Equatable {
    public var bytesSent: Int64
    public var bytesReceived: Int64

    public init(bytesSent: Int64 = 0, bytesReceived: Int64 = 0) {
        self.bytesSent = bytesSent
        self.bytesReceived = bytesReceived
    }
}

/// Why no whole response came.
public enum HTTPTransportError: Error, Sendable, Equatable {
    /// No network, a name that does not resolve, or a refused connection.
    case unreachable
    /// The certificate or its name was not acceptable; not retryable.
    case untrusted
    case timedOut
    /// The connection broke before the response was whole.
    case interrupted
    /// More than the destination allows.
    case tooLarge
    /// The response came in a content coding, such as gzip, which the system undoes by itself: its bytes cannot be had as
    /// they are stored. Not retryable.
    case encoded
    /// The request cannot be sent as it is.
    case invalidRequest
    /// The file to send could not be read, or is shorter than it was to be.
    case unreadableFile
    /// The destination could not be written; `isFull` when for want of space.
    case unwritableFile(isFull: Bool)
    /// The system forbids it now, such as on an expensive network in low data mode.
    case notAllowedNow
    case cancelled
}
