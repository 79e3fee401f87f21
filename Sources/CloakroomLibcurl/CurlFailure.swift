package import CloakroomCCurl

/// Why libcurl has no whole response.
package enum CurlFailure {
    /// The name did not resolve, or the connection was refused.
    case unreachable
    /// The certificate or its name was not acceptable.
    case untrusted
    case timedOut
    /// The URL is none.
    case invalidRequest
    /// The connection broke before the response was whole, or there was another reason to try again.
    case interrupted

    /// The one place that knows libcurl's error codes.
    ///
    /// Source: libcurl's manual, `libcurl-errors(3)`.
    /// - Parameter code: any but `CURLE_OK`.
    package init(_ code: CURLcode) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT: self = .unreachable
        case CURLE_OPERATION_TIMEDOUT: self = .timedOut
        case CURLE_URL_MALFORMAT: self = .invalidRequest
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS:
            self = .untrusted
        // CURLE_SSL_CONNECT_ERROR too: a handshake breaks off for many reasons, and not all of them last.
        // CURLE_UNSUPPORTED_PROTOCOL too: with a URL of HTTP it means a response that is none.
        default: self = .interrupted
        }
    }
}
