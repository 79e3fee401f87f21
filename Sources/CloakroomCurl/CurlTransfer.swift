import CloakroomCCurl
import CloakroomHTTP
import CloakroomLoop

/// One easy handle, used for one request after another.
///
/// What one request sets and the next wants too stays as it is: to set an option costs more than to compare.
@LoopActor
@safe final class CurlTransfer {
    let handle: OpaquePointer
    /// Who waits for the response. Unchecked: ``LoopCurlTransport`` has one place that takes it out, and there it is resumed.
    var continuation: UnsafeContinuation<Result<UpstreamResponse, TransportError>, Never>?
    var isRunning: Bool { unsafe continuation != nil }
    /// Tells this request from the ones that had the handle before.
    private(set) var requestNumber = 0

    private let response: CurlResponse
    private let suppressedFields: SuppressedHeaderFields
    private let address: OpaquePointer
    private var origin = ""
    private var kind = Kind.plain
    private var method = "GET"
    private var timeoutMilliseconds = 0
    private var namesHost = true
    // libcurl reads the request's body from here until the transfer is done.
    private var requestBody: UnsafeMutableBufferPointer<UInt8>?

    /// What libcurl must know of a request.
    private enum Kind {
        case plain
        /// Its response has no body, whatever it says.
        case head
        case withBody
    }

    /// - Parameter transport: context of the callbacks about sockets.
    init(
        options: LoopCurlTransport.Options, suppressedFields: SuppressedHeaderFields, transport: UnsafeMutableRawPointer
    ) {
        guard let easy = unsafe curl_easy_init() else { preconditionFailure("curl_easy_init") }
        guard let address = unsafe curl_url() else { preconditionFailure("curl_url") }
        unsafe handle = OpaquePointer(easy)
        unsafe self.address = address
        self.suppressedFields = suppressedFields
        response = CurlResponse(maximumBytes: options.maximumResponseBytes)
        let response = unsafe Unmanaged.passUnretained(response).toOpaque()
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_PRIVATE, Unmanaged.passUnretained(self).toOpaque()))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_CURLU, UnsafeMutableRawPointer(address)))
        unsafe check(cloakroom_set_list(easy, CURLOPT_HTTPHEADER, suppressedFields.all))
        set(CURLOPT_NOSIGNAL, 1)
        // A name that is still being looked up is given up with its request; otherwise libcurl would wait for the
        // resolver's thread, and the loop with it, for as long as requests to a silent name server are repeated: 20 s.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(options.connectTimeout.nanoseconds / 1_000_000))
        set(CURLOPT_TCP_KEEPALIVE, 1)
        // A buffer belongs to every request on the way. Responses of S3 fit; a long one of STS takes a second read.
        set(CURLOPT_BUFFERSIZE, 2048)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PROXY, "")
        // Else libcurl looks into the environment for each request.
        set(CURLOPT_NOPROXY, "*")
        if let file = options.certificateAuthorities { set(CURLOPT_CAINFO, file) }
        if options.readsCertificates { set(CURLOPT_CERTINFO, 1) }
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_WRITEDATA, response))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_HEADERDATA, response))
        unsafe check(cloakroom_set_data_callback(easy, CURLOPT_WRITEFUNCTION, receiveCurlBody))
        unsafe check(cloakroom_set_data_callback(easy, CURLOPT_HEADERFUNCTION, receiveCurlHeaderLine))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_OPENSOCKETDATA, transport))
        unsafe check(cloakroom_set_open_callback(easy, openCurlSocket))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_CLOSESOCKETDATA, transport))
        unsafe check(cloakroom_set_close_callback(easy, closeCurlSocket))
    }

    /// The end of the handle; the object is of no use afterwards.
    func free() {
        reset()
        unsafe curl_easy_cleanup(UnsafeMutableRawPointer(handle))
        unsafe curl_url_cleanup(address)
    }

    /// - Returns: whose handle it is.
    static func of(_ easy: UnsafeMutableRawPointer) -> CurlTransfer {
        var pointer: UnsafeMutableRawPointer?
        unsafe cloakroom_get_pointer(easy, CURLINFO_PRIVATE, &pointer)
        guard let pointer = unsafe pointer else { preconditionFailure("libcurl lost its context") }
        return unsafe Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
    }

    // MARK: One request

    /// - Returns: whether libcurl takes the request at all.
    func prepare(_ request: UpstreamRequest, timeout: Duration) -> Bool {
        let mayHaveBody = request.method != "GET" && request.method != "HEAD"
        guard use(request.origin),
            let head = RequestHead.text(
                request.target, request.fields, byteCount: mayHaveBody ? request.body.count : nil)
        else { return false }
        requestNumber += 1
        use(request.method == "HEAD" ? .head : mayHaveBody && !request.body.isEmpty ? .withBody : .plain)
        if kind == .withBody { takeRequestBody(request.body) }
        use(method: request.method)
        useNamesHost(request.fields.location(of: "host") != nil)
        use(timeoutMilliseconds: max(1, Int(timeout.nanoseconds / 1_000_000)))
        unsafe check(cloakroom_set_text(UnsafeMutableRawPointer(handle), CURLOPT_REQUEST_TARGET, head))
        return true
    }

    /// Requests of one handle mostly go to one host; libcurl then knows it already.
    private func use(_ origin: String) -> Bool {
        if origin == self.origin { return true }
        // Of half an address libcurl would make a whole one.
        guard origin.hasPrefix("https://") || origin.hasPrefix("http://"), origin.isVisible,
            unsafe curl_url_set(address, CURLUPART_URL, origin + "/", UInt32(CURLU_PATH_AS_IS)) == CURLUE_OK
        else { return false }
        self.origin = origin
        return true
    }

    private func use(_ kind: Kind) {
        guard kind != self.kind else { return }
        self.kind = kind
        set(CURLOPT_HTTPGET, 1)
        if kind == .head { set(CURLOPT_NOBODY, 1) }
    }

    /// - Parameter method: libcurl knows the two that need no name of their own.
    private func use(method: String) {
        guard method != self.method else { return }
        self.method = method
        if method == "GET" || method == "HEAD" {
            unset(CURLOPT_CUSTOMREQUEST)
        } else {
            set(CURLOPT_CUSTOMREQUEST, method)
        }
    }

    private func useNamesHost(_ namesHost: Bool) {
        guard namesHost != self.namesHost else { return }
        self.namesHost = namesHost
        let fields = unsafe namesHost ? suppressedFields.all : suppressedFields.allButHost
        unsafe check(cloakroom_set_list(UnsafeMutableRawPointer(handle), CURLOPT_HTTPHEADER, fields))
    }

    private func use(timeoutMilliseconds: Int) {
        guard timeoutMilliseconds != self.timeoutMilliseconds else { return }
        self.timeoutMilliseconds = timeoutMilliseconds
        set(CURLOPT_TIMEOUT_MS, timeoutMilliseconds)
    }

    private func takeRequestBody(_ bytes: [UInt8]) {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = unsafe copy.initialize(from: bytes)
        unsafe requestBody = copy
        let easy = unsafe UnsafeMutableRawPointer(handle)
        unsafe check(cloakroom_set_off(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_POSTFIELDS, UnsafeMutableRawPointer(copy.baseAddress)))
    }

    func result(_ code: CURLcode) -> Result<UpstreamResponse, TransportError> {
        guard code == CURLE_OK else { return .failure(response.isTooLarge ? .tooLarge : TransportError(code)) }
        guard response.head.isWhole else { return .failure(.interrupted) }
        var status = 0
        unsafe cloakroom_get_long(UnsafeMutableRawPointer(handle), CURLINFO_RESPONSE_CODE, &status)
        return .success(UpstreamResponse(status: status, fields: response.head.fields, body: response.body))
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

    /// Forgets the request and its response; the connection and the handle's settings stay.
    func reset() {
        response.reset()
        guard let body = unsafe requestBody else { return }
        unsafe check(cloakroom_set_pointer(UnsafeMutableRawPointer(handle), CURLOPT_POSTFIELDS, nil))
        unsafe body.deallocate()
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

extension TransportError {
    /// The one place that knows libcurl's codes.
    init(_ code: CURLcode) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT: self = .unreachable
        case CURLE_OPERATION_TIMEDOUT: self = .timeout
        case CURLE_URL_MALFORMAT: self = .invalidRequest
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS:
            self = .untrusted
        // CURLE_SSL_CONNECT_ERROR too: a handshake breaks off for many reasons, and not all of them last.
        // CURLE_UNSUPPORTED_PROTOCOL too: with a URL of HTTP it means a response that is none.
        default: self = .interrupted
        }
    }
}
