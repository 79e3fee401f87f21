/// RFC 3986 percent-encoding as SigV4 wants it: everything but `A-Za-z0-9-._~`, in upper-case hexadecimal.
package enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    private static let unreserved: [Bool] = {
        var table = [Bool](repeating: false, count: 256)
        for byte in UInt8.min ... .max {
            table[Int(byte)] = isLetterOrDigit(byte) || isUppercase(byte) || "-._~".utf8.contains(byte)
        }
        return table
    }()

    package static func encode(_ text: String, keepingSlashes: Bool = false) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        append(text.utf8, keepingSlashes: keepingSlashes, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func append(_ text: some Sequence<UInt8>, keepingSlashes: Bool = false, to bytes: inout [UInt8]) {
        for byte in text {
            if unreserved[Int(byte)] || (keepingSlashes && byte == UInt8(ascii: "/")) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            }
        }
    }

    /// Undoes ``encode(_:keepingSlashes:)``; a `%` that two hexadecimal digits do not follow stays, and so does `+`.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let pair = value(of: rest.prefix(2)) {
                bytes.append(pair)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func value(of pair: some Collection<UInt8>) -> UInt8? {
        guard pair.count == 2 else { return nil }
        var value: UInt8 = 0
        for byte in pair {
            guard byte < 128, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            value = value << 4 | UInt8(digit)
        }
        return value
    }
}
