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
    private var headers: UnsafeMutablePointer<curl_slist>?
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
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(options.connectTimeout.nanoseconds / 1_000_000))
        set(CURLOPT_TCP_KEEPALIVE, 1)
        // Answers are small; a buffer belongs to every request on the way.
        set(CURLOPT_BUFFERSIZE, 4096)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PROXY, "")
        if let file = options.certificateAuthorities { set(CURLOPT_CAINFO, file) }
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
    }

    // MARK: One request

    /// - Returns: whether libcurl takes the request at all.
    func prepare(_ request: UpstreamRequest, timeout: Duration) -> Bool {
        guard isSendable(request.url) else { return false }
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
        guard addHeaders(request.fields) else { return false }
        set(CURLOPT_TIMEOUT_MS, max(1, Int(timeout.nanoseconds / 1_000_000)))
        return unsafe cloakroom_set_text(UnsafeMutableRawPointer(handle), CURLOPT_URL, request.url) == CURLE_OK
    }

    private func takeRequestBody(_ bytes: [UInt8]) {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
        _ = unsafe copy.initialize(from: bytes)
        unsafe requestBody = copy
        let easy = unsafe UnsafeMutableRawPointer(handle)
        unsafe check(cloakroom_set_off(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count)))
        unsafe check(cloakroom_set_pointer(easy, CURLOPT_POSTFIELDS, UnsafeMutableRawPointer(copy.baseAddress)))
    }

    private func addHeaders(_ fields: HeaderFields) -> Bool {
        // What libcurl would add by itself: it is not in the signature, and `Expect` costs a round trip.
        var lines: [UInt8] = Array("Expect:\0Accept:\0".utf8)
        guard appendLines(of: fields, to: &lines) else { return false }
        let areAdded = unsafe lines.withUnsafeBytes { lines in
            var next = 0
            while next < lines.count {
                let line = unsafe (lines.baseAddress! + next).assumingMemoryBound(to: CChar.self)
                guard unsafe addHeader(line) else { return false }
                unsafe next += strlen(line) + 1
            }
            return true
        }
        guard areAdded else { return false }
        return unsafe cloakroom_set_list(UnsafeMutableRawPointer(handle), CURLOPT_HTTPHEADER, headers) == CURLE_OK
    }

    private func addHeader(_ line: UnsafePointer<CChar>) -> Bool {
        guard let longer = unsafe curl_slist_append(headers, line) else { return false }
        unsafe headers = longer
        return true
    }

    func result(_ code: CURLcode) -> Result<UpstreamResponse, TransportError> {
        guard code == CURLE_OK else { return .failure(isTooLarge ? .tooLarge : TransportError(code)) }
        guard isHeadWhole else { return .failure(.interrupted) }
        var status = 0
        unsafe cloakroom_get_long(UnsafeMutableRawPointer(handle), CURLINFO_RESPONSE_CODE, &status)
        return .success(UpstreamResponse(status: status, fields: fields, body: body))
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
        unsafe curl_slist_free_all(headers)
        unsafe headers = nil
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
            if unsafe bytes.starts(with: "HTTP/".utf8) {
                fields = HeaderFields()
                isHeadWhole = false
            } else if unsafe bytes.elementsEqual("\r\n".utf8) || bytes.elementsEqual("\n".utf8) {
                isHeadWhole = true
            } else if let colon = unsafe bytes.firstIndex(of: UInt8(ascii: ":")), fields.count < 64 {
                let name = unsafe String(decoding: UnsafeRawBufferPointer(rebasing: bytes[..<colon]), as: UTF8.self)
                let value = unsafe bytes[(colon + 1)...].trimmingHTTPSpace
                unsafe fields.add(name, String(decoding: UnsafeRawBufferPointer(rebasing: value), as: UTF8.self))
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

/// Whether the URL is one of HTTP, without spaces and control characters, with which libcurl would do as it likes.
private func isSendable(_ url: String) -> Bool {
    (url.hasPrefix("https://") || url.hasPrefix("http://")) && url.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
}

/// Appends one line a field, each ended by NUL, and takes back libcurl's own `Content-Type` where there is none.
///
/// - Returns: whether every field can be sent: a line break or a NUL in a value would make two of one.
private func appendLines(of fields: HeaderFields, to lines: inout [UInt8]) -> Bool {
    lines.reserveCapacity(1024)
    for field in fields {
        let start = lines.count
        lines.append(contentsOf: field.name.utf8)
        // A name with a semicolon is libcurl's way to send an empty value.
        lines.append(contentsOf: field.value.isEmpty ? ";".utf8 : ": ".utf8)
        lines.append(contentsOf: field.value.utf8)
        for index in start..<lines.count where lines[index] < 0x20 && lines[index] != 0x09 { return false }
        lines.append(0)
    }
    if fields["Content-Type"] == nil { lines.append(contentsOf: "Content-Type:\0".utf8) }
    return true
}

extension Slice<UnsafeRawBufferPointer> {
    fileprivate var trimmingHTTPSpace: Self {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        guard let first = unsafe firstIndex(where: { !isSpace($0) }) else { return unsafe self[endIndex...] }
        let last = unsafe lastIndex { !isSpace($0) } ?? first
        return unsafe self[first...last]
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
