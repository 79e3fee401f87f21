import CloakroomCCurl

/// One of libcurl's easy handles, used for one task after another.
@safe final class EasyHandle {
    private let handle: OpaquePointer
    private var lines: UnsafeMutablePointer<curl_slist>?

    init() {
        guard let easy = unsafe curl_easy_init() else { preconditionFailure("curl_easy_init") }
        unsafe handle = OpaquePointer(easy)
    }

    deinit {
        unsafe curl_easy_cleanup(pointer)
        unsafe curl_slist_free_all(lines)
    }

    var pointer: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(handle) }
    var id: UInt { unsafe UInt(bitPattern: handle) }

    /// Forgets the task and every option.
    func reset() {
        unsafe curl_easy_reset(pointer)
        unsafe curl_slist_free_all(lines)
        unsafe lines = nil
    }

    func set(_ option: CURLoption, _ value: Int) { unsafe check(cloakroom_set_long(pointer, option, value)) }

    func set(_ option: CURLoption, _ value: String) { unsafe check(cloakroom_set_text(pointer, option, value)) }

    /// - Returns: whether libcurl takes it for a URL.
    func setOrigin(_ origin: String) -> Bool {
        unsafe cloakroom_set_text(pointer, CURLOPT_URL, origin) == CURLE_OK
    }

    func setBodyLength(_ count: Int64) {
        unsafe check(cloakroom_set_off(pointer, CURLOPT_INFILESIZE_LARGE, curl_off_t(count)))
    }

    /// - Parameter fields: an empty value is sent as one; what libcurl would add by itself is left out.
    func set(_ fields: [(name: String, value: String)]) {
        for line in ["Expect:", "Accept:"] { unsafe lines = curl_slist_append(lines, line) }
        // A name with a semicolon is libcurl's way to send an empty value.
        for (name, value) in fields {
            unsafe lines = curl_slist_append(lines, value.isEmpty ? name + ";" : "\(name): \(value)")
        }
        unsafe check(cloakroom_set_list(pointer, CURLOPT_HTTPHEADER, lines))
    }

    /// - Parameter task: must live until the handle is reset.
    func set(callbacksOf task: CurlTask) {
        let task = unsafe Unmanaged.passUnretained(task).toOpaque()
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA] {
            unsafe check(cloakroom_set_pointer(pointer, option, task))
        }
        unsafe check(cloakroom_set_data_callback(pointer, CURLOPT_HEADERFUNCTION, receiveHeaderLine))
        unsafe check(cloakroom_set_data_callback(pointer, CURLOPT_WRITEFUNCTION, receiveBody))
        unsafe check(cloakroom_set_data_callback(pointer, CURLOPT_READFUNCTION, sendBody))
        unsafe check(cloakroom_set_seek_callback(pointer, seekBody))
        unsafe check(cloakroom_set_open_callback(pointer, openSocket))
    }

    private func check(_ code: CURLcode) { precondition(code == CURLE_OK, "curl_easy_setopt \(code.rawValue)") }
}

// libcurl's callbacks.

private func task(at pointer: UnsafeMutableRawPointer?) -> CurlTask {
    guard let pointer = unsafe pointer else { preconditionFailure("libcurl lost its context") }
    return unsafe Unmanaged<CurlTask>.fromOpaque(pointer).takeUnretainedValue()
}

/// Any result but the count ends the task.
private func receiveHeaderLine(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let isTaken = unsafe task(at: context).take(line: UnsafeRawBufferPointer(start: bytes, count: size * count))
    return isTaken ? size * count : 0
}

/// Any result but the count ends the task.
private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let isTaken = unsafe task(at: context).take(body: UnsafeRawBufferPointer(start: bytes, count: size * count))
    return isTaken ? size * count : 0
}

private func sendBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let room = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return unsafe task(at: context).give(into: room) ?? Int(CURL_READFUNC_ABORT)
}

private func seekBody(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    guard origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
    unsafe task(at: context).seek(to: Int64(offset))
    return CURL_SEEKFUNC_OK
}

/// A child process does not inherit it.
private func openSocket(
    _: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    unsafe cloakroom_open_socket(address)
}
