import CloakroomHTTP

/// The parameters of a query: each encoded exactly once, sorted by name, then by value.
struct CanonicalQuery {
    private var pairs: [(name: [UInt8], value: [UInt8])] = []

    /// - Parameter query: as it stands in the request line; what is encoded there may or may not be what had to be.
    init(_ query: String) {
        guard !query.isEmpty else { return }
        for part in query.utf8.split(separator: UInt8(ascii: "&")) {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            pairs.append((Self.recoded(pair[0]), pair.count > 1 ? Self.recoded(pair[1]) : []))
        }
    }

    mutating func add(_ name: String, _ value: String) {
        pairs.append((name.withUTF8Span(Self.encoded), value.withUTF8Span(Self.encoded)))
    }

    var text: [UInt8] {
        guard !pairs.isEmpty else { return [] }
        let sorted = pairs.sorted { left, right in
            left.name == right.name
                ? left.value.lexicographicallyPrecedes(right.value) : left.name.lexicographicallyPrecedes(right.name)
        }
        var bytes: [UInt8] = []
        for (name, value) in sorted {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            bytes.append(contentsOf: name)
            bytes.append(UInt8(ascii: "="))
            bytes.append(contentsOf: value)
        }
        return bytes
    }

    private static func recoded(_ text: some Collection<UInt8>) -> [UInt8] {
        let decoded = PercentEncoding.decode(text)[...]
        return encoded(decoded.span)
    }

    private static func encoded(_ text: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        PercentEncoding.append(text, to: &bytes)
        return bytes
    }
}

/// The first stage: what both sides must agree on, byte for byte.
struct CanonicalRequest {
    let bytes: [UInt8]
    let signedHeaders: String

    /// - Parameter query: already canonical.
    init(_ message: SigV4.Message, query: [UInt8], rules: SigV4.Rules) {
        let fields = CanonicalFields(message.fields, absent: message.absentFields)
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
