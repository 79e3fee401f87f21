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
        if let value = fields["Authorization"], let token = Self.token(authorization: value, acceptsBare: acceptsBare) {
            return token
        }
        guard let value = fields[header], !value.isEmpty else { return nil }
        return Array(value.utf8)
    }

    private static func token(authorization value: String, acceptsBare: Bool) -> [UInt8]? {
        let bytes = Array(value.utf8)
        let words = bytes.split(separator: UInt8(ascii: " "))
        if words.count == 2, words[0].elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) { return Array(words[1]) }
        return words.count == 1 && acceptsBare ? Array(words[0]) : nil
    }
}
