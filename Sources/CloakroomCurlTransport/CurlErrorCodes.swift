import CloakroomCCurl
import CloakroomKit

extension HTTPTransportError {
    /// The one place that knows libcurl's codes; what is not told apart is ``interrupted``, which is tried again.
    ///
    /// Source: libcurl's manual, `libcurl-errors(3)`.
    init(_ code: CURLcode) {
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
