import Foundation

/// A body of `multipart/form-data` (RFC 7578), up to and with the file.
struct FormData {
    /// Names in lower case, in order; what follows the file is ignored, as S3 does.
    private(set) var fields: [S3Request.Pair] = []
    private(set) var file: [UInt8]?
    private(set) var filename = ""

    init?(_ request: S3Request) {
        let type = request.field("content-type") ?? ""
        guard let boundary = type.firstMatch(of: /boundary="?([^";]+)"?/) else { return nil }
        let separator = Array("\r\n--\(boundary.1)".utf8)
        var rest = (Array("\r\n".utf8) + request.body)[...]
        guard let opening = rest.firstRange(of: separator) else { return nil }
        rest = rest[opening.upperBound...]
        while rest.starts(with: Array("\r\n".utf8)), file == nil {
            guard let end = rest.firstRange(of: separator) else { return nil }
            let part = rest[..<end.lowerBound].dropFirst(2)
            guard let head = part.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            take(String(decoding: part[..<head.lowerBound], as: UTF8.self), Array(part[head.upperBound...]))
            rest = rest[end.upperBound...]
        }
    }

    private mutating func take(_ head: String, _ content: [UInt8]) {
        guard let name = head.firstMatch(of: /[; ]name="([^"]*)"/) else { return }
        if name.1.lowercased() == "file" {
            file = content
            filename = head.firstMatch(of: /filename="([^"]*)"/).map { String($0.1) } ?? ""
        } else {
            fields.append(.init(name: name.1.lowercased(), value: String(decoding: content, as: UTF8.self)))
        }
    }

    var values: [String: String] { Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }) }
}
