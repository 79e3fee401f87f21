import CloakroomCCurl
import CloakroomKit
import Foundation

/// One request on its way, and what has come of its response.
final class CurlTask: @unchecked Sendable {
    // Cancellation comes from any thread and is under `lock`; all other changes are made on the thread's thread.
    private let lock = NSLock()
    private var wasCancelled = false

    private let request: HTTPRequest
    private let fields: [(name: String, value: String)]
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
        self.fields = fields
        body = try RequestBodyReader(request.body)
        response = try ResponseAccumulator(request.destination, isHead: request.method == "HEAD")
        self.progress = progress
        lastMove = ContinuousClock.now
        lastEnd = lastMove + request.timeout
    }

    /// When it is over if nothing moves any more.
    var end: ContinuousClock.Instant { min(lastEnd, lastMove + request.idleTimeout) }

    var isCancelled: Bool { lock.withLock { wasCancelled } }

    func cancel() { lock.withLock { wasCancelled = true } }

    /// - Returns: whether libcurl takes the request.
    func prepare(_ handle: EasyHandle) -> Bool {
        let (origin, target) = request.url.originAndTarget
        guard handle.setOrigin(origin) else { return false }
        handle.set(CURLOPT_NOSIGNAL, 1)
        // A name that is still being looked up is given up with its task; otherwise libcurl would wait for the
        // resolver's thread.
        handle.set(CURLOPT_QUICK_EXIT, 1)
        handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        handle.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        handle.set(CURLOPT_FOLLOWLOCATION, 0)
        handle.set(CURLOPT_PROXY, "")
        handle.set(CURLOPT_NOPROXY, "*")
        handle.set(CURLOPT_TCP_KEEPALIVE, 1)
        handle.set(CURLOPT_BUFFERSIZE, 64 << 10)
        handle.set(CURLOPT_UPLOAD_BUFFERSIZE, 64 << 10)
        let connectTime = min(request.timeout, request.idleTimeout) / .milliseconds(1)
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, Int(min(86_400_000, max(1, connectTime.rounded(.up)))))
        handle.set(callbacksOf: self)
        handle.set(fields)
        switch request.method {
        case "GET": handle.set(CURLOPT_HTTPGET, 1)
        case "HEAD": handle.set(CURLOPT_NOBODY, 1)
        default:
            handle.set(CURLOPT_UPLOAD, 1)
            handle.setBodyLength(body.byteCount)
            handle.set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        // What is signed is what is sent: libcurl parses only the origin.
        handle.set(CURLOPT_PATH_AS_IS, 1)
        handle.set(CURLOPT_REQUEST_TARGET, target)
        return true
    }

    /// - Parameter code: what libcurl says of its end.
    func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPTransportError> {
        if isCancelled { return .failure(.cancelled) }
        if body.hasFailed { return .failure(.unreadableFile) }
        if let problem { return .failure(problem) }
        guard code == CURLE_OK else { return .failure(HTTPTransportError(code)) }
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

extension URL {
    /// The scheme and the authority, with a slash; and path and query as they are.
    fileprivate var originAndTarget: (origin: String, target: String) {
        let text = absoluteString.prefix { $0 != "#" }
        guard let authority = text.range(of: "://")?.upperBound else { return ("", "") }
        let end = text[authority...].firstIndex { $0 == "/" || $0 == "?" } ?? text.endIndex
        let target = text[end...]
        return (text[..<end] + "/", target.first == "/" ? String(target) : "/" + target)
    }
}
