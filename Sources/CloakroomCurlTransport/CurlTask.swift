import CloakroomCCurl
import CloakroomHTTP
import CloakroomKit
import CloakroomLibcurl
import Foundation

/// One request on its way, and what has come of its response.
final class CurlTask: @unchecked Sendable {
    // Cancellation comes from any thread and is under `lock`; all other changes are made on the thread of ``CurlThread``.
    private let lock = NSLock()
    private var wasCancelled = false

    private let request: HTTPRequest
    private let fields: CurlFieldLines
    private let body: RequestBodyReader
    private let progress: (@Sendable (HTTPProgress) -> Void)?
    private var position: Int64 = 0
    private var head = CurlHeadParser()
    private var response: ResponseAccumulator
    private var problem: HTTPTransportError?
    private var moved = HTTPProgress()
    private let lastEnd: ContinuousClock.Instant
    private var lastMove: ContinuousClock.Instant

    /// Opens the files of a request.
    init(_ request: HTTPRequest, progress: (@Sendable (HTTPProgress) -> Void)?) throws(HTTPTransportError) {
        var fields = try request.fieldsToSend()
        // Checksums are of the bytes as they are stored.
        if !fields.contains(where: { $0.name.lowercased() == "accept-encoding" }) {
            fields.append(("Accept-Encoding", "identity"))
        }
        self.request = request
        self.fields = Self.lines(fields)
        body = try RequestBodyReader(request.body)
        response = try ResponseAccumulator(request.destination, isHead: request.method == "HEAD")
        self.progress = progress
        lastMove = ContinuousClock.now
        lastEnd = lastMove + request.timeout
    }

    /// - Parameter fields: an empty value is sent as one; what libcurl would add by itself is left out.
    private static func lines(_ fields: [(name: String, value: String)]) -> CurlFieldLines {
        var lines = CurlFieldLines()
        for line in ["Expect:", "Accept:"] { lines.append(line) }
        // A name with a semicolon is libcurl's way to send an empty value.
        for (name, value) in fields { lines.append(value.isEmpty ? name + ";" : "\(name): \(value)") }
        return lines
    }

    /// When it is over if nothing moves any more.
    var end: ContinuousClock.Instant { min(lastEnd, lastMove + request.idleTimeout) }

    var isCancelled: Bool { lock.withLock { wasCancelled } }

    func cancel() { lock.withLock { wasCancelled = true } }

    /// - Returns: whether libcurl takes the request.
    func prepare(_ handle: CurlEasyHandle) -> Bool {
        guard let (origin, target) = request.url.absoluteString.originAndTarget, handle.setOrigin(origin + "/") else {
            return false
        }
        handle.set(CURLOPT_UPLOAD_BUFFERSIZE, 64 << 10)
        let connectTime = min(request.timeout, request.idleTimeout) / .milliseconds(1)
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(86_400_000, max(1, connectTime.rounded(.up)))))
        handle.set(callbacksOf: self)
        unsafe handle.setFields(fields.first)
        switch request.method {
        case "GET": handle.set(CURLOPT_HTTPGET, 1)
        case "HEAD": handle.set(CURLOPT_NOBODY, 1)
        default:
            handle.set(CURLOPT_UPLOAD, 1)
            handle.setByteCount(CURLOPT_INFILESIZE_LARGE, body.byteCount)
            handle.set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        // What is signed is what is sent: libcurl parses only the origin.
        handle.set(CURLOPT_REQUEST_TARGET, target)
        return true
    }

    /// - Parameter code: what libcurl says of its end.
    func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPTransportError> {
        if isCancelled { return .failure(.cancelled) }
        if body.hasFailed { return .failure(.unreadableFile) }
        if let problem { return .failure(problem) }
        guard code == CURLE_OK else { return .failure(HTTPTransportError(CurlFailure(code))) }
        // libcurl takes a head that breaks off for a whole one.
        return head.isWhole ? response.finish() : .failure(.interrupted)
    }
}

// What libcurl tells and asks for.
extension CurlTask {
    /// - Returns: whether to go on.
    func take(line: UnsafeRawBufferPointer) -> Bool {
        lastMove = ContinuousClock.now
        guard !isCancelled else { return false }
        switch unsafe head.take(line) {
        case .more: break
        case .head(let head): problem = response.begin(head)
        case .unusable: problem = .interrupted
        }
        return problem == nil
    }

    /// - Returns: whether to go on.
    func take(body bytes: UnsafeRawBufferPointer) -> Bool {
        lastMove = ContinuousClock.now
        guard !isCancelled else { return false }
        problem = unsafe response.append(bytes)
        guard problem == nil else { return false }
        moved.bytesReceived += Int64(bytes.count)
        progress?(moved)
        return true
    }

    /// - Returns: how many bytes there are now, or `nil` to give up.
    func give(into room: UnsafeMutableRawBufferPointer) -> Int? {
        lastMove = ContinuousClock.now
        guard !isCancelled else { return nil }
        guard position < body.byteCount else { return 0 }
        guard let count = unsafe body.read(into: room, at: position) else { return nil }
        position += Int64(count)
        // It goes back when the body is sent again.
        moved.bytesSent = max(moved.bytesSent, position)
        progress?(moved)
        return count
    }

    func seek(to position: Int64) { self.position = position }
}

extension HTTPTransportError {
    fileprivate init(_ failure: CurlFailure) {
        switch failure {
        case .unreachable: self = .unreachable
        case .untrusted: self = .untrusted
        case .timedOut: self = .timedOut
        case .invalidRequest: self = .invalidRequest
        case .interrupted: self = .interrupted
        }
    }
}
