import CloakroomCCurl
import CloakroomLibcurl

/// The fields that libcurl would add by itself, as a list that forbids them: a name without a value (`CURLOPT_HTTPHEADER`).
///
/// A request says all of them in its ``RequestHead``, or does without: nothing of them is signed, and `Expect` costs a round
/// trip.
@safe final class SuppressedHeaderFields {
    private let lines: CurlFieldLines

    init() {
        var lines = CurlFieldLines()
        for name in ["Host:", "Content-Length:", "Content-Type:", "Accept:", "Expect:"] { lines.append(name) }
        self.lines = lines
    }

    var all: UnsafeMutablePointer<curl_slist>? { unsafe lines.first }
    /// For a request that does not name its host: libcurl does.
    var allButHost: UnsafeMutablePointer<curl_slist>? { unsafe lines.first?.pointee.next }
}
