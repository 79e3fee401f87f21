/// The parameters of a query, percent-decoded once; `+` stays a plus sign, as in RFC 3986.
struct QueryParameters {
    private var values: [String: String] = [:]

    /// - Returns: `nil` for a broken escape, for bytes that are not UTF-8, and for a name that comes twice.
    init?(_ query: String) {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count > 1 ? parts[1] : "") else {
                return nil
            }
            guard values.updateValue(value, forKey: name) == nil else { return nil }
        }
    }

    subscript(name: String) -> String? { values[name] }

    var names: Set<String> { Set(values.keys) }

    /// - Returns: `nil` for anything but decimal digits: no sign, no space, no zero before others.
    static func integer(_ text: some StringProtocol) -> Int? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            text.utf8.first != UInt8(ascii: "0") || text.utf8.count == 1
        else { return nil }
        return Int(text)
    }

    private static func decoded(_ text: Substring) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
