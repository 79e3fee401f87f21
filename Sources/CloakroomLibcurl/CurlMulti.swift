package import CloakroomCCurl

/// libcurl's multi handle: transfers side by side, and the connections that are kept for the next ones.
///
/// Its owner ends it with ``cleanUp()``. Source: libcurl's manual, `libcurl-multi(3)`.
@safe package struct CurlMulti {
    package let pointer: UnsafeMutableRawPointer

    /// libcurl's own, once in a process.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    /// - Parameters:
    ///   - keptConnections: open when idle, at most.
    ///   - multiplexes: whether transfers of HTTP/2 share connections.
    package init(keptConnections: Int, multiplexes: Bool = false) {
        precondition(Self.isReady, "curl_global_init")
        guard let multi = unsafe curl_multi_init() else { preconditionFailure("curl_multi_init") }
        unsafe pointer = multi
        set(CURLMOPT_MAXCONNECTS, keptConnections)
        set(CURLMOPT_PIPELINING, Int(multiplexes ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING))
    }

    /// Ends it and its connections; its transfers must have been removed.
    package func cleanUp() { unsafe check(curl_multi_cleanup(pointer)) }

    package func set(_ option: CURLMoption, _ value: Int) { unsafe check(cloakroom_multi_long(pointer, option, value)) }

    package func add(_ easy: CurlEasyHandle) { unsafe check(curl_multi_add_handle(pointer, easy.pointer)) }

    package func remove(_ easy: CurlEasyHandle) { unsafe check(curl_multi_remove_handle(pointer, easy.pointer)) }

    /// The next transfer that has ended by itself, by its easy handle.
    package func nextEnded() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(pointer, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE, let easy = unsafe message.pointee.easy_handle else {
                continue
            }
            return unsafe (easy, message.pointee.data.result)
        }
        return nil
    }

    package func check(_ code: CURLMcode) { precondition(code == CURLM_OK, "curl_multi \(code.rawValue)") }
}
