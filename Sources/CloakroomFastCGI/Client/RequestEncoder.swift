import CloakroomHTTP

/// A request as nginx sends it to a worker (FastCGI Specification 1.0, §3.3, §3.4 and §6; RFC 3875 §4.1).
enum RequestEncoder {
    /// What a record's length field can say.
    private static let maximumContent = 65_535

    /// - Parameter keepsConnection: else the worker closes it after its response.
    static func bytes(_ request: UpstreamRequest, keepsConnection: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256 + request.fields.text.count + 16 * request.fields.count + request.body.count)
        // A responder.
        append(.begin, [0, 1, keepsConnection ? 1 : 0, 0, 0, 0, 0, 0], to: &bytes)
        append(.parameters, parameters(request)[...], to: &bytes)
        append(.parameters, [], to: &bytes)
        if !request.body.isEmpty { append(.input, request.body[...], to: &bytes) }
        append(.input, [], to: &bytes)
        return bytes
    }

    private static func parameters(_ request: UpstreamRequest) -> [UInt8] {
        var pairs: [UInt8] = []
        pairs.reserveCapacity(192 + request.fields.text.count + 16 * request.fields.count)
        append("REQUEST_METHOD", request.method, to: &pairs)
        append("REQUEST_URI", request.target.isEmpty ? "/" : request.target, to: &pairs)
        append("CONTENT_LENGTH", request.body.isEmpty ? "" : String(request.body.count), to: &pairs)
        append("CONTENT_TYPE", request.fields["content-type"] ?? "", to: &pairs)
        append("REMOTE_ADDR", "127.0.0.1", to: &pairs)
        append("LOCAL_NETWORK", "1", to: &pairs)
        for field in request.fields {
            let name = field.name.uppercased()
            guard name != "CONTENT-TYPE", name != "CONTENT-LENGTH" else { continue }
            append("HTTP_" + String(name.map { $0 == "-" ? "_" : $0 }), field.value, to: &pairs)
        }
        return pairs
    }

    private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        for count in [name.utf8.count, value.utf8.count] {
            if count < 128 {
                bytes.append(UInt8(count))
            } else {
                for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
                bytes[bytes.count - 4] |= 0x80
            }
        }
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: value.utf8)
    }

    private static func append(_ kind: RecordHeader.Kind, _ content: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
        var rest = content
        repeat {
            let part = rest.prefix(maximumContent)
            rest = rest.dropFirst(part.count)
            let length = part.count
            bytes += [1, kind.rawValue, 0, 1, UInt8(length >> 8), UInt8(length & 0xFF), 0, 0]
            bytes += part
        } while !rest.isEmpty
    }
}
