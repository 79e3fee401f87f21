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
        var words = value
        let first = Self.word(from: &words)
        let second = Self.word(from: &words)
        guard Self.word(from: &words).isEmpty else { return nil }
        if second.isEmpty { return acceptsBare && !first.isEmpty ? Array(first) : nil }
        return first.elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) ? Array(second) : nil
    }

    /// Takes what stands between spaces; empty at the end.
    private static func word(from bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        while let byte = bytes.first, byte == UInt8(ascii: " ") { bytes.removeFirst() }
        let end = bytes.firstIndex(of: UInt8(ascii: " ")) ?? bytes.endIndex
        defer { bytes = bytes[end...] }
        return bytes[..<end]
    }
}
