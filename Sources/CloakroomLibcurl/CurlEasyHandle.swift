package import CloakroomCCurl

/// One of libcurl's easy handles, with the options that all requests share.
///
/// Source: libcurl's manual, `curl_easy_setopt(3)`.
@safe package final class CurlEasyHandle {
    package let pointer: UnsafeMutableRawPointer
    private let bufferBytes: Int
    private let certificateAuthorities: String?
    /// Is there for as long as the handle.
    private var shared: CurlShare?

    /// - Parameters:
    ///   - bufferBytes: of the buffer for a response, which every request on the way has.
    ///   - certificateAuthorities: a PEM file to trust instead of the system's; `nil` for the system's.
    package init(bufferBytes: Int, certificateAuthorities: String?) {
        guard let easy = unsafe curl_easy_init() else { preconditionFailure("curl_easy_init") }
        unsafe pointer = easy
        self.bufferBytes = bufferBytes
        self.certificateAuthorities = certificateAuthorities
        precondition(setSharedOptions(), "CURLOPT_BUFFERSIZE")
    }

    deinit { unsafe curl_easy_cleanup(pointer) }

    package func share(_ share: CurlShare) {
        shared = share
        unsafe set(CURLOPT_SHARE, share.pointer)
    }

    /// Forgets every other option; connections stay.
    ///
    /// - Returns: whether the handle can be used again. After a transfer that was given up libcurl may still hold its
    ///   buffer, whose size it then does not let be set.
    package func reset() -> Bool {
        unsafe curl_easy_reset(pointer)
        return setSharedOptions()
    }

    private func setSharedOptions() -> Bool {
        set(CURLOPT_NOSIGNAL, 1)
        // A name that is still being looked up is given up with its request; otherwise libcurl would wait for the
        // resolver's thread, for as long as requests to a silent name server are repeated: 20 s.
        set(CURLOPT_QUICK_EXIT, 1)
        // What is signed is what is sent.
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PROXY, "")
        // Else libcurl looks into the environment for each request.
        set(CURLOPT_NOPROXY, "*")
        if let certificateAuthorities { set(CURLOPT_CAINFO, certificateAuthorities) }
        return unsafe cloakroom_set_long(pointer, CURLOPT_BUFFERSIZE, bufferBytes) == CURLE_OK
    }

    package func set(_ option: CURLoption, _ value: Int) { unsafe check(cloakroom_set_long(pointer, option, value)) }

    package func set(_ option: CURLoption, _ value: String) { unsafe check(cloakroom_set_text(pointer, option, value)) }

    /// Of an option that is a text or a pointer.
    package func unset(_ option: CURLoption) { unsafe check(cloakroom_set_text(pointer, option, nil)) }

    package func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
        unsafe check(cloakroom_set_pointer(pointer, option, value))
    }

    /// For the options that are numbers of bytes, by their names.
    package func setByteCount(_ option: CURLoption, _ count: Int64) {
        unsafe check(cloakroom_set_off(pointer, option, curl_off_t(count)))
    }

    /// `CURLOPT_HTTPHEADER`.
    ///
    /// - Parameter lines: must live as long as the handle has them.
    package func setFields(_ lines: UnsafeMutablePointer<curl_slist>?) {
        unsafe check(cloakroom_set_list(pointer, CURLOPT_HTTPHEADER, lines))
    }

    package func check(_ code: CURLcode) { precondition(code == CURLE_OK, "curl_easy_setopt \(code.rawValue)") }
}

/// - Parameter pointer: a callback's context.
/// - Returns: the object that it points to, which must be alive.
@inlinable package func curlContext<Context: AnyObject>(_ pointer: UnsafeMutableRawPointer?) -> Context {
    guard let pointer = unsafe pointer else { preconditionFailure("libcurl lost its context") }
    return unsafe Unmanaged<Context>.fromOpaque(pointer).takeUnretainedValue()
}

/// Lines for `CURLOPT_HTTPHEADER`: fields that libcurl is to send, and, as a name with a colon and nothing more, those that
/// it is not to add by itself.
@safe package struct CurlFieldLines: ~Copyable {
    package private(set) var first: UnsafeMutablePointer<curl_slist>?

    package init() { unsafe first = nil }

    deinit { unsafe curl_slist_free_all(first) }

    package mutating func append(_ line: String) {
        guard let list = unsafe curl_slist_append(first, line) else { preconditionFailure("curl_slist_append") }
        unsafe first = list
    }
}
