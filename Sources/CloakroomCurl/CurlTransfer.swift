import CloakroomCCurl
import CloakroomHTTP
import CloakroomLibcurl
import CloakroomLoop

/// One easy handle, used for one request after another.
///
/// What one request sets and the next wants too stays as it is: to set an option costs more than to compare.
@LoopActor
@safe final class CurlTransfer {
    let easy: CurlEasyHandle
    /// Who waits for the response. Unchecked: ``LoopCurlTransport`` has one place that takes it out, and there it is resumed.
    var continuation: UnsafeContinuation<Result<UpstreamResponse, TransportError>, Never>?
    /// Of a request without a task, in place of the continuation.
    var completion: (@LoopActor (Result<UpstreamResponse, TransportError>) -> Void)?
    var isRunning: Bool { unsafe continuation != nil }
    /// Where it is while it runs.
    var group: CurlGroup?
    /// Tells this request from the ones that had the handle before.
    private(set) var requestNumber = 0

    private let response: CurlResponse
    private let suppressedFields: SuppressedHeaderFields
    private let address: OpaquePointer
    private let version: HTTPVersion
    private let form: HeadForm
    private var fieldLines: CurlFieldLines?
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

    /// - Parameters:
    ///   - form: ``HeadForm/lines`` for HTTP/2, whose fields are no text.
    ///   - sockets: the ``CurlSockets``, as context of the callbacks about them.
    init(
        options: LoopCurlTransport.Options, form: HeadForm, suppressedFields: SuppressedHeaderFields,
        sockets: UnsafeMutableRawPointer, shared: CurlShare
    ) {
        guard let address = unsafe curl_url() else { preconditionFailure("curl_url") }
        unsafe self.address = address
        // The least there is: every request that waits has one. Responses of S3 fit into it, those of STS take two or three reads.
        easy = CurlEasyHandle(bufferBytes: 1024, certificateAuthorities: options.certificateAuthorities)
        // Over TLS a request is copied into one more, which it keeps until its response is whole; less is not to be had.
        easy.set(CURLOPT_UPLOAD_BUFFERSIZE, 16 << 10)
        self.suppressedFields = suppressedFields
        version = options.version
        self.form = form
        response = CurlResponse(maximumBytes: options.maximumResponseBytes)
        let response = unsafe Unmanaged.passUnretained(response).toOpaque()
        unsafe easy.set(CURLOPT_PRIVATE, Unmanaged.passUnretained(self).toOpaque())
        unsafe easy.set(CURLOPT_CURLU, UnsafeMutableRawPointer(address))
        if form == .text {
            unsafe easy.setFields(suppressedFields.all)
        } else {
            easy.set(CURLOPT_USERAGENT, "cloakroom")
        }
        // For a connection that is being opened and will have room for many, rather than one more.
        if version == .http2 { easy.set(CURLOPT_PIPEWAIT, 1) }
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, options.connectTimeout.milliseconds)
        easy.set(CURLOPT_MAXAGE_CONN, max(1, Int(options.maximumIdleAge.components.seconds)))
        if options.readsCertificates { easy.set(CURLOPT_CERTINFO, 1) }
        unsafe easy.set(CURLOPT_WRITEDATA, response)
        unsafe easy.set(CURLOPT_HEADERDATA, response)
        unsafe easy.check(cloakroom_set_data_callback(easy.pointer, CURLOPT_WRITEFUNCTION, receiveCurlBody))
        unsafe easy.check(cloakroom_set_data_callback(easy.pointer, CURLOPT_HEADERFUNCTION, receiveCurlHeaderLine))
        easy.share(shared)
        unsafe easy.set(CURLOPT_OPENSOCKETDATA, sockets)
        unsafe easy.check(cloakroom_set_open_callback(easy.pointer, openCurlSocket))
        unsafe easy.set(CURLOPT_CLOSESOCKETDATA, sockets)
        unsafe easy.check(cloakroom_set_close_callback(easy.pointer, closeCurlSocket))
    }

    /// What the transfer owns beside its handle; the object is of no use afterwards.
    func free() {
        reset()
        easy.unset(CURLOPT_CURLU)
        unsafe curl_url_cleanup(address)
    }

    /// - Returns: whose handle it is.
    static func of(_ easy: UnsafeMutableRawPointer) -> CurlTransfer {
        var pointer: UnsafeMutableRawPointer?
        unsafe cloakroom_get_pointer(easy, CURLINFO_PRIVATE, &pointer)
        return unsafe curlContext(pointer)
    }

    // MARK: One request

    /// - Returns: whether libcurl takes the request at all.
    func prepare(_ request: UpstreamRequest, timeout: Duration) -> Bool {
        let mayHaveBody = request.method != "GET" && request.method != "HEAD"
        guard use(request.origin) else { return false }
        let head: [CChar]?
        switch form {
        case .text:
            head = RequestHead.text(
                request.target, request.fields, byteCount: mayHaveBody ? request.body.count : nil)
        case .lines: head = useFieldLines(of: request, hasLength: mayHaveBody && request.body.isEmpty)
        }
        guard let head else { return false }
        requestNumber += 1
        use(request.method == "HEAD" ? .head : mayHaveBody && !request.body.isEmpty ? .withBody : .plain)
        if kind == .withBody { takeRequestBody(request.body) }
        use(method: request.method)
        if form == .text { useNamesHost(request.fields.location(of: "host") != nil) }
        use(timeoutMilliseconds: max(1, timeout.milliseconds))
        unsafe easy.check(cloakroom_set_text(easy.pointer, CURLOPT_REQUEST_TARGET, head))
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
        if version == .http2 {
            // Without TLS there is nothing to agree on a version by.
            let plain = origin.hasPrefix("http://")
            easy.set(
                CURLOPT_HTTP_VERSION, Int(plain ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_2TLS))
        }
        return true
    }

    /// - Parameter hasLength: whether it says that its body is empty, which libcurl does not.
    /// - Returns: the target alone; `nil` as for ``RequestHead``.
    private func useFieldLines(of request: UpstreamRequest, hasLength: Bool) -> [CChar]? {
        let target = request.target.isEmpty ? "/" : request.target
        guard RequestHead.isSendable(target, request.fields) else { return nil }
        var lines = CurlFieldLines()
        // Which libcurl would add, as in SuppressedHeaderFields.
        for name in ["Accept", "Expect", "Content-Type"] where request.fields.location(of: name) == nil {
            lines.append("\(name):")
        }
        for field in request.fields {
            lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        if hasLength { lines.append("Content-Length: 0") }
        unsafe easy.setFields(lines.first)
        fieldLines = consume lines
        return Array(target.utf8CString)
    }

    private func use(_ kind: Kind) {
        guard kind != self.kind else { return }
        self.kind = kind
        easy.set(CURLOPT_HTTPGET, 1)
        if kind == .head { easy.set(CURLOPT_NOBODY, 1) }
    }

    /// - Parameter method: libcurl knows the two that need no name of their own.
    private func use(method: String) {
        guard method != self.method else { return }
        self.method = method
        if method == "GET" || method == "HEAD" {
            easy.unset(CURLOPT_CUSTOMREQUEST)
        } else {
            easy.set(CURLOPT_CUSTOMREQUEST, method)
        }
    }

    private func useNamesHost(_ namesHost: Bool) {
        guard namesHost != self.namesHost else { return }
        self.namesHost = namesHost
        unsafe easy.setFields(namesHost ? suppressedFields.all : suppressedFields.allButHost)
    }

    private func use(timeoutMilliseconds: Int) {
        guard timeoutMilliseconds != self.timeoutMilliseconds else { return }
        self.timeoutMilliseconds = timeoutMilliseconds
        easy.set(CURLOPT_TIMEOUT_MS, timeoutMilliseconds)
    }

    private func takeRequestBody(_ bytes: [UInt8]) {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = unsafe copy.initialize(from: bytes)
        unsafe requestBody = copy
        easy.setByteCount(CURLOPT_POSTFIELDSIZE_LARGE, Int64(bytes.count))
        unsafe easy.set(CURLOPT_POSTFIELDS, UnsafeMutableRawPointer(copy.baseAddress))
    }

    func result(_ code: CURLcode) -> Result<UpstreamResponse, TransportError> {
        guard code == CURLE_OK else {
            return .failure(response.isTooLarge ? .tooLarge : TransportError(CurlFailure(code)))
        }
        guard response.hasHead else { return .failure(.interrupted) }
        return .success(UpstreamResponse(status: response.status, fields: response.fields, body: response.body))
    }

    /// `nil` without TLS, and on a connection that was there before.
    var certificateEnd: String? {
        var line = unsafe cloakroom_certificate(easy.pointer)
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
        easy.unset(CURLOPT_POSTFIELDS)
        unsafe body.deallocate()
        unsafe requestBody = nil
    }
}

extension TransportError {
    fileprivate init(_ failure: CurlFailure) {
        switch failure {
        case .unreachable: self = .unreachable
        case .untrusted: self = .untrusted
        case .timedOut: self = .timeout
        case .invalidRequest: self = .invalidRequest
        case .interrupted: self = .interrupted
        }
    }
}
