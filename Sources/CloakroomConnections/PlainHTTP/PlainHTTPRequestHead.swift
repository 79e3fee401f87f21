import CloakroomHTTP

/// Writes requests of HTTP/1.1 (RFC 9112 §3), with the fields that libcurl is given and adds.
struct PlainHTTPRequestHead {
    private static let version = Array(" HTTP/1.1\r\n".utf8)[...]
    private static let length = Array("content-length: ".utf8)[...]
    private static let end = Array("\r\n".utf8)[...]
    /// For the parts above and a number.
    private static let room = 64

    /// What every head ends with.
    private let common: ArraySlice<UInt8>

    /// - Parameter authority: for the field `host`.
    init(authority: String) {
        precondition(authority.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a host that would end its field")
        common = Array("user-agent: cloakroom\r\nhost: \(authority)\r\n\r\n".utf8)[...]
    }

    /// - Parameter request: of any method but HEAD, to whose responses the reader would wait for a body.
    /// - Returns: head and body; `nil` when a line break or a NUL would make two fields of one, or two requests.
    func bytes(_ request: UpstreamRequest) -> [UInt8]? {
        let target = request.target.isEmpty ? "/" : request.target
        guard request.method != "HEAD", Self.isTarget(target), Self.areLines(request.fields) else { return nil }
        let mayHaveBody = request.method != "GET"
        let capacity =
            Self.room + request.method.utf8.count + target.utf8.count + request.fields.text.count + request.fields.count
            + common.count
            + request.body.count
        let (fields, body) = (request.fields.text[...], request.body[...])
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: capacity) { bytes in
            request.method.withUTF8Span { bytes.append(copying: $0) }
            bytes.append(0x20)
            target.withUTF8Span { bytes.append(copying: $0) }
            bytes.append(copying: Self.version.span)
            for location in request.fields.locations {
                bytes.append(copying: fields.span.extracting(location.line))
                bytes.append(copying: Self.end.span)
            }
            if mayHaveBody {
                bytes.append(copying: Self.length.span)
                bytes.append(decimal: request.body.count)
                bytes.append(copying: Self.end.span)
            }
            bytes.append(copying: common.span)
            if mayHaveBody { bytes.append(copying: body.span) }
        }
        return bytes
    }

    private static func isTarget(_ target: String) -> Bool {
        target.utf8.first == UInt8(ascii: "/") && target.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }

    /// Whether each field ends with the one NUL behind it, and none has another control character than a tab.
    private static func areLines(_ fields: HeaderFields) -> Bool {
        var (ends, hasControls) = (0, false)
        // Without an early end, so that the compiler looks at many bytes at once.
        for byte in fields.text {
            ends += byte == 0 ? 1 : 0
            hasControls = hasControls || (byte < 0x20 && byte != 0x09 && byte != 0)
        }
        return ends == fields.count && !hasControls
    }
}
