import CloakroomHTTP

/// The first stage: what both sides must agree on, byte for byte.
struct CanonicalRequest {
    let bytes: [UInt8]
    let signedHeaders: String

    /// - Parameter query: already canonical.
    init(_ message: SigV4.Message, query: [UInt8], rules: SigV4.Rules) {
        let fields = CanonicalFields(message.fields)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(
            message.path.utf8.count + query.count + fields.lines.count + fields.names.count + 128)
        bytes.append(message.method)
        bytes.append(newline)
        Self.append(path: message.path, rules: rules, to: &bytes)
        bytes.append(newline)
        bytes.append(contentsOf: query)
        bytes.append(newline)
        bytes.append(contentsOf: fields.lines)
        bytes.append(newline)
        bytes.append(contentsOf: fields.names)
        bytes.append(newline)
        bytes.append(message.payloadHash)
        self.bytes = bytes
        self.signedHeaders = String(decoding: fields.names, as: UTF8.self)
    }

    private static func append(path: String, rules: SigV4.Rules, to bytes: inout [UInt8]) {
        guard !path.isEmpty else { return bytes.append(UInt8(ascii: "/")) }
        if !rules.normalizesPath && !rules.encodesPathAgain { return bytes.append(path) }
        let path = rules.normalizesPath ? normalized(path) : Array(path.utf8)
        if rules.encodesPathAgain {
            let slice = path[...]
            PercentEncoding.append(slice.span, keepingSlashes: true, to: &bytes)
        } else {
            bytes.append(contentsOf: path)
        }
    }

    /// Without dot segments (RFC 3986 §5.2.4) and, as AWS wants it, without repeated slashes.
    private static func normalized(_ path: String) -> [UInt8] {
        var segments: [Substring.UTF8View.SubSequence] = []
        for segment in path[...].utf8.split(separator: UInt8(ascii: "/")) {
            if segment.elementsEqual("..".utf8) {
                _ = segments.popLast()
            } else if !segment.elementsEqual(".".utf8) {
                segments.append(segment)
            }
        }
        var bytes: [UInt8] = []
        for segment in segments {
            bytes.append(UInt8(ascii: "/"))
            bytes.append(contentsOf: segment)
        }
        if segments.isEmpty || path.utf8.last == UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
        return bytes
    }
}
