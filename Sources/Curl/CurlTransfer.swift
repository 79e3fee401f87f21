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

    private let maximumResponseBytes: Int
    private var headers = HeaderList()
    private var origin = ""
    // libcurl reads the request's body from here until the transfer is done.
    private var requestBody: UnsafeMutableBufferPointer<UInt8>?
    fileprivate var fields = HeaderFields()
    fileprivate var body: [UInt8] = []
    fileprivate var isTooLarge = false
    /// libcurl takes a head that breaks off for a whole one.
    fileprivate var isHeadWhole = false

    /// - Parameter transport: context of the callbacks about sockets.
    init(options: CurlTransport.Options, transport: UnsafeMutableRawPointer) {
        guard let easy = unsafe curl_easy_init() else { preconditionFailure("curl_easy_init") }
        unsafe handle = OpaquePointer(easy)
        maximumResponseBytes = options.maximumResponseBytes
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
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
        if let file = options.certificateAuthorities { set(CURLOPT_CAINFO, file) }
        if options.readsCertificates { set(CURLOPT_CERTINFO, 1) }
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_WRITEDATA, me))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_HEADERDATA, me))
        unsafe check(
            cloakroom_set_data_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, me in
                unsafe CurlTransfer.at(me).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
        unsafe check(
            cloakroom_set_data_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, me in
                unsafe CurlTransfer.at(me).takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_OPENSOCKETDATA, transport))
        unsafe check(
            cloakroom_set_open_callback(easy) { transport, _, address in
                let socket = unsafe cloakroom_open_socket(address)
                // A socket that never got connected libcurl closes without a word; this may have its number.
                if let transport = unsafe transport {
                    unsafe Unmanaged<CurlTransport>.fromOpaque(transport).takeUnretainedValue().forget(socket)
                }
                return socket
            })
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_CLOSESOCKETDATA, transport))
        unsafe check(
            cloakroom_set_close_callback(easy) { transport, socket in
                if let transport = unsafe transport {
                    unsafe Unmanaged<CurlTransport>.fromOpaque(transport).takeUnretainedValue().forget(socket)
                }
                return cloakroom_close_socket(socket)
            })
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
        guard code == CURLE_OK else { return .failure(isTooLarge ? .tooLarge : TransportError(code)) }
        guard isHeadWhole else { return .failure(.interrupted) }
        var status = 0
        unsafe cloakroom_get_long(UnsafeMutableRawPointer(handle), CURLINFO_RESPONSE_CODE, &status)
        return .success(UpstreamResponse(status: status, fields: fields, body: body))
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
        fields = HeaderFields()
        body = []
        isTooLarge = false
        isHeadWhole = false
        let easy = unsafe UnsafeMutableRawPointer(handle)
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_POSTFIELDS, nil))
        unsafe check(cloakroom_set_list(easy, CURLOPT_HTTPHEADER, nil))
        unsafe requestBody?.deallocate()
        unsafe requestBody = nil
    }

    // MARK: Callbacks

    private nonisolated static func at(_ pointer: UnsafeMutableRawPointer?) -> CurlTransfer {
        guard let pointer = unsafe pointer else { preconditionFailure("libcurl lost its context") }
        return unsafe Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// - Returns: as the write callback: anything but the count ends the transfer.
    private nonisolated func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        // Used within this call, on this thread.
        nonisolated(unsafe) let bytes = unsafe bytes
        return LoopActor.assumeIsolated {
            guard unsafe body.count + bytes.count <= maximumResponseBytes else {
                isTooLarge = true
                return 0
            }
            unsafe body.append(contentsOf: bytes)
            return unsafe bytes.count
        }
    }

    private nonisolated func takeHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
        // Used within this call, on this thread.
        nonisolated(unsafe) let bytes = unsafe bytes
        return LoopActor.assumeIsolated {
            let line = unsafe bytes.assumingMemoryBound(to: UInt8.self)
            switch unsafe HeadLine(line) {
            case .status:
                fields = HeaderFields()
                isHeadWhole = false
            case .end: isHeadWhole = true
            case .field(let name, let value) where fields.count < 64:
                unsafe fields.add(line.span.extracting(name), line.span.extracting(value))
            case .field, .other: break
            }
            return unsafe bytes.count
        }
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

/// One line of an answer's head.
private enum HeadLine {
    case status
    case field(name: Range<Int>, value: Range<Int>)
    case end
    case other

    init(_ line: UnsafeBufferPointer<UInt8>) {
        if unsafe line.starts(with: "HTTP/".utf8) {
            self = .status
        } else if unsafe line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) {
            self = .end
        } else if let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")) {
            var (start, end) = (colon + 1, line.count)
            while start < end, unsafe Self.isSpace(line[start]) { start += 1 }
            while start < end, unsafe Self.isSpace(line[end - 1]) { end -= 1 }
            self = .field(name: 0..<colon, value: start..<end)
        } else {
            self = .other
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }
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
