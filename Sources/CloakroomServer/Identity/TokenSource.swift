import CloakroomHTTP

/// Where in a request its token may stand.
struct TokenSource: Sendable {
    /// Besides `Authorization`.
    let header: String

    /// - Returns: `nil` when there is none.
    func token(in fields: HeaderFields) -> [UInt8]? {
        tokenRange(in: fields, acceptsBare: false).map { Array(fields.text[$0]) }
    }

    /// - Parameter acceptsBare: whether `Authorization` may hold the token alone, as AWS SDKs send it
    ///   (AWS SDKs and Tools Reference Guide, "Container credential provider").
    /// - Returns: where in the fields' text the token stands; `nil` when there is none.
    func tokenRange(in fields: HeaderFields, acceptsBare: Bool) -> Range<Int>? {
        if let field = fields.location(of: "Authorization") {
            let value = field.value
            let authorization = fields.text.span.extracting(value)
            if let token = Self.token(in: authorization, acceptsBare: acceptsBare) {
                return value.lowerBound + token.lowerBound..<value.lowerBound + token.upperBound
            }
        }
        guard let field = fields.location(of: header), !field.value.isEmpty else { return nil }
        return field.value
    }

    private static func token(in authorization: Span<UInt8>, acceptsBare: Bool) -> Range<Int>? {
        let start = bearer.count + 1
        // As every app of ours sends it.
        if authorization.count > start, isBearer(authorization.extracting(first: bearer.count)),
            authorization[bearer.count] == space, !authorization.extracting(droppingFirst: start).holds(space)
        {
            return start..<authorization.count
        }
        let first = word(in: authorization, from: 0)
        let second = word(in: authorization, from: first.upperBound)
        guard word(in: authorization, from: second.upperBound).isEmpty else { return nil }
        if second.isEmpty { return acceptsBare && !first.isEmpty ? first : nil }
        return isBearer(authorization.extracting(first)) ? second : nil
    }

    private static let space = UInt8(ascii: " ")
    private static let bearer = Array("bearer".utf8)

    private static func isBearer(_ word: Span<UInt8>) -> Bool {
        guard word.count == bearer.count else { return false }
        for index in word.indices where word[index] | 0x20 != bearer[index] { return false }
        return true
    }

    /// What stands between spaces, from `start` on; empty at the end.
    private static func word(in text: Span<UInt8>, from start: Int) -> Range<Int> {
        var start = start
        while start < text.count, text[start] == space { start += 1 }
        var end = start
        while end < text.count, text[end] != space { end += 1 }
        return start..<end
    }
}
