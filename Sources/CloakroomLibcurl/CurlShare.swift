import CloakroomCCurl

/// What easy handles of one thread have in common: the addresses of hosts, which each multi handle would look up for itself,
/// and TLS sessions to resume, for which each easy handle would have room of its own.
///
/// Source: libcurl's manual, `libcurl-share(3)`.
@safe package final class CurlShare {
    let pointer: UnsafeMutableRawPointer

    package init() {
        guard let share = unsafe curl_share_init() else { preconditionFailure("curl_share_init") }
        unsafe pointer = share
        for data in [CURL_LOCK_DATA_DNS, CURL_LOCK_DATA_SSL_SESSION] {
            let code = unsafe cloakroom_share(share, data)
            precondition(code == CURLSHE_OK, "curl_share_setopt \(code.rawValue)")
        }
    }

    deinit {
        let code = unsafe curl_share_cleanup(pointer)
        precondition(code == CURLSHE_OK, "curl_share_cleanup \(code.rawValue)")
    }
}
