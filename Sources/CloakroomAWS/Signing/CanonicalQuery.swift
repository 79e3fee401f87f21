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
