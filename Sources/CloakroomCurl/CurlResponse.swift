import CloakroomCCurl
import CloakroomHTTP
import CloakroomLibcurl

/// What libcurl has told of a response so far.
///
/// libcurl tells within `curl_multi_socket_action`, so on the loop's thread. The callbacks have no isolation:
/// to prove the thread anew for each line of a head would cost more than to read it.
@safe final class CurlResponse {
    private var head = CurlResponse.newHead
    private(set) var fields = HeaderFields()
    private(set) var body: [UInt8] = []
    private(set) var isTooLarge = false
    private let maximumBytes: Int

    /// S3 keeps 2 KB of metadata with an object, in up to a thousand fields.
    private static var newHead: CurlHeadReader { CurlHeadReader(maximumBytes: 1 << 16) }

    /// - Parameter maximumBytes: of the body.
    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    var status: Int { head.status }
    /// Whether there is a whole head.
    var hasHead: Bool { head.isWhole }

    /// For the next one.
    func reset() {
        head = CurlResponse.newHead
        fields = HeaderFields()
        body = []
        isTooLarge = false
    }

    /// A field is never left out: what is missing of an object's metadata would be lost with a copy.
    ///
    /// - Returns: whether there was room, and the line is of a response.
    fileprivate func takeLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let line = unsafe bytes.assumingMemoryBound(to: UInt8.self).span
        switch head.read(line) {
        case .field(let name, let value): fields.add(line.extracting(name), line.extracting(value))
        case .status:
            fields = HeaderFields()
            // What S3 mostly says.
            fields.reserve(fields: 12, bytes: 480)
        case .end, .nothing: break
        case .tooLong:
            isTooLarge = true
            return false
        case .unusable: return false
        }
        return true
    }

    /// - Returns: whether there was room.
    fileprivate func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= maximumBytes else {
            isTooLarge = true
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }
}

/// libcurl's header callback: any result but the count ends the transfer.
func receiveCurlHeaderLine(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ response: UnsafeMutableRawPointer?
) -> Int {
    let response: CurlResponse = unsafe curlContext(response)
    let isTaken = unsafe response.takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return isTaken ? size * count : 0
}

/// libcurl's write callback: any result but the count ends the transfer.
func receiveCurlBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ response: UnsafeMutableRawPointer?
) -> Int {
    let response: CurlResponse = unsafe curlContext(response)
    let hasRoom = unsafe response.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return hasRoom ? size * count : 0
}

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
