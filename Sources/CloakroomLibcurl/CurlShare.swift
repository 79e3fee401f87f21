import CloakroomCCurl

/// The addresses of hosts that are known, for easy handles of one thread; without it each multi handle looks up its own.
///
/// Source: libcurl's manual, `libcurl-share(3)`.
@safe package final class CurlShare {
    let pointer: UnsafeMutableRawPointer

    package init() {
        guard let share = unsafe curl_share_init() else { preconditionFailure("curl_share_init") }
        unsafe pointer = share
        let code = unsafe cloakroom_share(share, CURL_LOCK_DATA_DNS)
        precondition(code == CURLSHE_OK, "curl_share_setopt \(code.rawValue)")
    }

    deinit {
        let code = unsafe curl_share_cleanup(pointer)
        precondition(code == CURLSHE_OK, "curl_share_cleanup \(code.rawValue)")
    }
}
