import CloakroomHTTP

/// The parameters of a query or of a form, percent-decoded once.
struct QueryParameters {
    private var values: [String: String] = [:]

    /// - Parameter query: in which a plus sign is one, as in RFC 3986.
    /// - Returns: `nil` for a broken escape, for bytes that are not UTF-8, and for a name that comes twice.
    init?(_ query: String) { self.init(query.utf8, isForm: false) }

    /// - Parameter form: `application/x-www-form-urlencoded`, in which a plus sign is a blank (WHATWG URL Standard §5).
    init?(form: some Collection<UInt8>) { self.init(form, isForm: true) }

    private init?(_ bytes: some Collection<UInt8>, isForm: Bool) {
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = Self.decoded(pair[..<end], isForm),
                let value = Self.decoded(pair[end...].dropFirst(), isForm),
                values.updateValue(value, forKey: name) == nil
            else { return nil }
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

    private static func decoded(_ text: some Collection<UInt8>, _ isForm: Bool) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var position = text.startIndex
        while position < text.endIndex {
            let byte = text[position]
            text.formIndex(after: &position)
            switch byte {
            case UInt8(ascii: "%"):
                guard let decoded = [UInt8](hexadecimal: text[position...].prefix(2)), !decoded.isEmpty else {
                    return nil
                }
                bytes += decoded
                text.formIndex(&position, offsetBy: 2)
            case UInt8(ascii: "+") where isForm: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
