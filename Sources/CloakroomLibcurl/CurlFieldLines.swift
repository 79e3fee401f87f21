package import CloakroomCCurl

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
