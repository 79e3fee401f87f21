import CloakroomCCurl
import CloakroomLibcurl

// What a task sets.
extension CurlEasyHandle {
    var id: UInt { unsafe UInt(bitPattern: pointer) }

    /// - Returns: whether libcurl takes it for a URL.
    func setOrigin(_ origin: String) -> Bool {
        unsafe cloakroom_set_text(pointer, CURLOPT_URL, origin) == CURLE_OK
    }

    /// - Parameter task: must live until the handle is reset.
    func set(callbacksOf task: CurlTask) {
        let task = unsafe Unmanaged.passUnretained(task).toOpaque()
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA] {
            unsafe set(option, task)
        }
        unsafe check(cloakroom_set_data_callback(pointer, CURLOPT_HEADERFUNCTION, receiveHeaderLine))
        unsafe check(cloakroom_set_data_callback(pointer, CURLOPT_WRITEFUNCTION, receiveBody))
        unsafe check(cloakroom_set_data_callback(pointer, CURLOPT_READFUNCTION, sendBody))
        unsafe check(cloakroom_set_seek_callback(pointer, seekBody))
        unsafe check(cloakroom_set_open_callback(pointer, openSocket))
    }
}

// libcurl's callbacks.

private func task(at pointer: UnsafeMutableRawPointer?) -> CurlTask { unsafe curlContext(pointer) }

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
