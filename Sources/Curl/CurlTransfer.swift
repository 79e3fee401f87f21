import CCurl
import HTTPValues
import Loop

/// One easy handle, used for one request after another.
@LoopActor
@safe final class CurlTransfer {
    let handle: OpaquePointer
    var id: UInt { unsafe UInt(bitPattern: handle) }
    var continuation: CheckedContinuation<Result<UpstreamResponse, TransportError>, Never>?
    /// Tells this request from the ones that had the handle before.
    private(set) var requestNumber = 0

    private let answer: CurlAnswer
    private var headers = HeaderList()
    private var origin = ""
    // libcurl reads the request's body from here until the transfer is done.
    private var requestBody: UnsafeMutableBufferPointer<UInt8>?

    /// - Parameter transport: context of the callbacks about sockets.
    init(options: CurlTransport.Options, transport: UnsafeMutableRawPointer) {
        guard let easy = unsafe curl_easy_init() else { preconditionFailure("curl_easy_init") }
        unsafe handle = OpaquePointer(easy)
        answer = CurlAnswer(maximumBytes: options.maximumResponseBytes)
        let answer = unsafe Unmanaged.passUnretained(answer).toOpaque()
        set(CURLOPT_NOSIGNAL, 1)
        // A name that is still being looked up is given up with its request; otherwise libcurl would wait for the
        // resolver's thread, and the loop with it, for as long as a silent name server is asked again: 20 s.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(options.connectTimeout.nanoseconds / 1_000_000))
        set(CURLOPT_TCP_KEEPALIVE, 1)
        // A buffer belongs to every request on the way. Answers of S3 fit; a long one of STS takes a second read.
        set(CURLOPT_BUFFERSIZE, 2048)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PROXY, "")
        // Else libcurl looks into the environment for each request.
        set(CURLOPT_NOPROXY, "*")
        if let file = options.certificateAuthorities { set(CURLOPT_CAINFO, file) }
        if options.readsCertificates { set(CURLOPT_CERTINFO, 1) }
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_WRITEDATA, answer))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_HEADERDATA, answer))
        unsafe check(cloakroom_set_data_callback(easy, CURLOPT_WRITEFUNCTION, takeAnswerBody))
        unsafe check(cloakroom_set_data_callback(easy, CURLOPT_HEADERFUNCTION, takeAnswerLine))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_OPENSOCKETDATA, transport))
        unsafe check(cloakroom_set_open_callback(easy, openCurlSocket))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_CLOSESOCKETDATA, transport))
        unsafe check(cloakroom_set_close_callback(easy, closeCurlSocket))
    }

    /// The end of the handle; the object is of no use afterwards.
    func free() {
        reset()
        unsafe curl_easy_cleanup(UnsafeMutableRawPointer(handle))
        headers.free()
    }

    // MARK: One request

    /// - Returns: whether libcurl takes the request at all.
    func prepare(_ request: UpstreamRequest, timeout: Duration) -> Bool {
        guard use(request.origin), isTarget(request.target), let headers = unsafe headers.fill(request.fields) else {
            return false
        }
        requestNumber += 1
        set(CURLOPT_HTTPGET, 1)
        switch request.method {
        case "GET": unset(CURLOPT_CUSTOMREQUEST)
        case "HEAD":
            unset(CURLOPT_CUSTOMREQUEST)
            set(CURLOPT_NOBODY, 1)
        default:
            takeRequestBody(request.body)
            set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        unsafe check(cloakroom_set_list(UnsafeMutableRawPointer(handle), CURLOPT_HTTPHEADER, headers))
        set(CURLOPT_TIMEOUT_MS, max(1, Int(timeout.nanoseconds / 1_000_000)))
        // What is signed is what is sent: libcurl parses only the origin.
        set(CURLOPT_REQUEST_TARGET, request.target.isEmpty ? "/" : request.target)
        return true
    }

    /// Requests of one handle mostly go to one host; libcurl then knows it already.
    private func use(_ origin: String) -> Bool {
        if origin == self.origin { return true }
        guard isOrigin(origin),
            unsafe cloakroom_set_text(UnsafeMutableRawPointer(handle), CURLOPT_URL, origin + "/") == CURLE_OK
        else { return false }
        self.origin = origin
        return true
    }

    private func takeRequestBody(_ bytes: [UInt8]) {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
        _ = unsafe copy.initialize(from: bytes)
        unsafe requestBody = copy
        let easy = unsafe UnsafeMutableRawPointer(handle)
        unsafe check(cloakroom_set_off(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_POSTFIELDS, UnsafeMutableRawPointer(copy.baseAddress)))
    }

    func result(_ code: CURLcode) -> Result<UpstreamResponse, TransportError> {
        guard code == CURLE_OK else { return .failure(answer.isTooLarge ? .tooLarge : TransportError(code)) }
        guard answer.head.isWhole else { return .failure(.interrupted) }
        var status = 0
        unsafe cloakroom_get_long(UnsafeMutableRawPointer(handle), CURLINFO_RESPONSE_CODE, &status)
        return .success(UpstreamResponse(status: status, fields: answer.head.fields, body: answer.body))
    }

    /// `nil` without TLS, and on a connection that was there before.
    var certificateEnd: String? {
        var line = unsafe cloakroom_certificate(UnsafeMutableRawPointer(handle))
        while let entry = unsafe line {
            let text = unsafe entry.pointee.data.map { unsafe String(cString: $0) } ?? ""
            if text.hasPrefix("Expire date:") { return String(text.dropFirst("Expire date:".count)) }
            unsafe line = entry.pointee.next
        }
        return nil
    }

    /// Forgets the request and its answer; the connection and the handle's settings stay.
    func reset() {
        continuation = nil
        answer.reset()
        let easy = unsafe UnsafeMutableRawPointer(handle)
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_POSTFIELDS, nil))
        unsafe check(cloakroom_set_list(easy, CURLOPT_HTTPHEADER, nil))
        unsafe requestBody?.deallocate()
        unsafe requestBody = nil
    }

    // MARK: Options

    private func set(_ option: CURLoption, _ value: Int) {
        unsafe check(cloakroom_set_long(UnsafeMutableRawPointer(handle), option, value))
    }

    private func set(_ option: CURLoption, _ value: String) {
        unsafe check(cloakroom_set_text(UnsafeMutableRawPointer(handle), option, value))
    }

    private func unset(_ option: CURLoption) {
        unsafe check(cloakroom_set_text(UnsafeMutableRawPointer(handle), option, nil))
    }

    private func check(_ code: CURLcode) { precondition(code == CURLE_OK, "curl_easy_setopt \(code.rawValue)") }
}

// Outside the class, because closures of the loop's own code are checked for their thread each time they run, and these
// run once a byte.

/// Whether it is a scheme of HTTP and a host, without spaces and control characters, with which libcurl would do as it
/// likes.
private func isOrigin(_ origin: String) -> Bool {
    (origin.hasPrefix("https://") || origin.hasPrefix("http://")) && isVisible(origin.utf8.span)
}

private func isTarget(_ target: String) -> Bool {
    target.isEmpty || (target.utf8.first == UInt8(ascii: "/") && isVisible(target.utf8.span))
}

/// Without an early end, so that the compiler looks at many bytes at once.
private func isVisible(_ text: Span<UInt8>) -> Bool {
    var found = false
    for index in text.indices { found = text[index] <= 0x20 || text[index] == 0x7F || found }
    return !found
}

extension TransportError {
    /// The one place that knows libcurl's codes.
    init(_ code: CURLcode) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT: self = .unreachable
        case CURLE_OPERATION_TIMEDOUT: self = .timeout
        case CURLE_URL_MALFORMAT: self = .invalidRequest
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_INVALIDCERTSTATUS:
            self = .untrusted
        case CURLE_FILESIZE_EXCEEDED: self = .tooLarge
        case CURLE_ABORTED_BY_CALLBACK: self = .cancelled
        // CURLE_UNSUPPORTED_PROTOCOL too: with a URL of HTTP it means an answer that is none.
        default: self = .interrupted
        }
    }
}
