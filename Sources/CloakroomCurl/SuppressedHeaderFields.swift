import CloakroomCCurl

/// The fields that libcurl would add by itself, as a list that forbids them: a name without a value (`CURLOPT_HTTPHEADER`).
///
/// A request says all of them in its ``RequestHead``, or does without: nothing of them is signed, and `Expect` costs a round
/// trip.
@safe final class SuppressedHeaderFields {
    private let first: UnsafeMutablePointer<curl_slist>

    init() {
        var list: UnsafeMutablePointer<curl_slist>?
        for name in ["Host:", "Content-Length:", "Content-Type:", "Accept:", "Expect:"] {
            unsafe list = curl_slist_append(list, name)
        }
        guard let list = unsafe list else { preconditionFailure("curl_slist_append") }
        unsafe first = list
    }

    deinit { unsafe curl_slist_free_all(first) }

    var all: UnsafeMutablePointer<curl_slist> { unsafe first }
    /// For a request that does not name its host: libcurl does.
    var allButHost: UnsafeMutablePointer<curl_slist>? { unsafe first.pointee.next }
}
