package import HTTPValues

/// Where in a request its token may stand.
package struct TokenSource: Sendable {
    /// Besides `Authorization`.
    package let header: String

    package init(header: String) { self.header = header }

    /// - Parameter acceptsBare: whether `Authorization` may hold the token alone, as AWS SDKs send it
    ///   (AWS SDKs and Tools Reference Guide, "Container credential provider").
    /// - Returns: `nil` when there is none.
    package func token(in fields: HeaderFields, acceptsBare: Bool = false) -> [UInt8]? {
        if let place = fields.place(of: "Authorization"),
            let token = Self.token(authorization: fields.text[place.value], acceptsBare: acceptsBare)
        {
            return token
        }
        guard let place = fields.place(of: header), !place.value.isEmpty else { return nil }
        return Array(fields.text[place.value])
    }

    private static func token(authorization value: ArraySlice<UInt8>, acceptsBare: Bool) -> [UInt8]? {
        // As every app of ours sends it.
        if isBearer(value.prefix(6)), value.dropFirst(6).first == UInt8(ascii: " "), value.count > 7 {
            let token = value.dropFirst(7)
            if !holdsSpace(token.span) { return Array(token) }
        }
        var words = value
        let first = Self.word(from: &words)
        let second = Self.word(from: &words)
        guard Self.word(from: &words).isEmpty else { return nil }
        if second.isEmpty { return acceptsBare && !first.isEmpty ? Array(first) : nil }
        return isBearer(first) ? Array(second) : nil
    }

    private static func isBearer(_ word: ArraySlice<UInt8>) -> Bool {
        word.elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 })
    }

    /// Without an early end, so that the compiler looks at many bytes at once.
    private static func holdsSpace(_ text: Span<UInt8>) -> Bool {
        var found = false
        for index in text.indices { found = text[index] == UInt8(ascii: " ") || found }
        return found
    }

    /// Takes what stands between spaces; empty at the end.
    private static func word(from bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        while let byte = bytes.first, byte == UInt8(ascii: " ") { bytes.removeFirst() }
        let end = bytes.firstIndex(of: UInt8(ascii: " ")) ?? bytes.endIndex
        defer { bytes = bytes[end...] }
        return bytes[..<end]
    }
}
