import Foundation

/// One request as it came, and what its target names.
struct S3Request {
    struct Pair: Equatable {
        let name: String
        let value: String
    }

    let method: String
    /// As in the request line.
    let target: String
    /// As in the request line, before `?`.
    let rawPath: String
    /// Decoded, in order; a parameter without `=` has an empty value.
    let query: [Pair]
    /// Names in lower case, in order.
    let fields: [Pair]
    var body: [UInt8]
    /// The first segment of the path; empty for the service itself.
    let bucket: String
    /// What stands behind it, decoded; `nil` without one, and where it is not UTF-8.
    let key: String?
    let hasUnreadableKey: Bool

    init(method: String, target: String, fields: [Pair], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        rawPath = String(parts[0])
        query = parts.count < 2 ? [] : Self.pairs(parts[1])
        let segments = rawPath.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        bucket = segments.first.flatMap { PercentText.decoded($0) } ?? ""
        let rawKey = segments.count > 1 && !segments[1].isEmpty ? segments[1] : nil
        key = rawKey.flatMap { PercentText.decoded($0) }
        hasUnreadableKey = rawKey != nil && key == nil
    }

    private static func pairs(_ text: Substring) -> [Pair] {
        text.split(separator: "&").map { part in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func decoded(_ text: Substring) -> String {
                let hasPlus = text.utf8.contains(UInt8(ascii: "+"))
                return PercentText.decoded(hasPlus ? text.replacing("+", with: "%20") : text) ?? "\u{FFFD}"
            }
            return Pair(name: decoded(pair[0]), value: pair.count > 1 ? decoded(pair[1]) : "")
        }
    }

    /// A field; for want of it the query parameter of that name: presigned URLs may carry fields there.
    /// (LocalStack, validated on AWS: `test_presigned_url_v4_x_amz_in_qs`, `test_pre_signed_url_if_none_match`.)
    subscript(name: String) -> String? {
        if let field = field(name) { return field }
        return isPresigned ? query.first { $0.name.lowercased() == name }?.value : nil
    }

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }

    func has(_ name: String) -> Bool { parameter(name) != nil }

    var isPresigned: Bool { has("X-Amz-Signature") }

    /// `x-amz-meta-…`, without that.
    var userMetadata: [Pair] {
        fields.compactMap { field in
            let prefix = "x-amz-meta-"
            guard field.name.hasPrefix(prefix) else { return nil }
            return Pair(name: String(field.name.dropFirst(prefix.count)), value: field.value)
        }
    }
}
