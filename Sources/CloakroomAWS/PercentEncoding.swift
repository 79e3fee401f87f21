import CloakroomHTTP

/// RFC 3986 percent-encoding as SigV4 wants it: everything but `A-Za-z0-9-._~`, in upper-case hexadecimal.
package enum PercentEncoding {
    package static func encode(_ text: String, keepingSlashes: Bool = false) -> String {
        var bytes: [UInt8] = []
        text.withUTF8Span { append($0, keepingSlashes: keepingSlashes, to: &bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What stays as it is goes over in pieces: mostly it is all of it.
    static func append(_ text: Span<UInt8>, keepingSlashes: Bool = false, to bytes: inout [UInt8]) {
        let hexadecimal: StaticString = "0123456789ABCDEF"
        let digits = hexadecimal.utf8Start
        var start = 0
        for index in text.indices {
            let byte = text[index]
            if isUnreserved(byte) || (keepingSlashes && byte == UInt8(ascii: "/")) { continue }
            bytes.append(text.extracting(start..<index))
            bytes.append(UInt8(ascii: "%"))
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
            start = index + 1
        }
        bytes.append(text.extracting(start..<text.count))
    }

    /// `A-Za-z0-9-._~`, as one bit for each character of ASCII: a branch for each range would cost a third more.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        let low: UInt64 = 0x03FF_6000_0000_0000
        let high: UInt64 = 0x47FF_FFFE_87FF_FFFE
        return byte < 128 && ((byte < 64 ? low : high) >> UInt64(byte & 63)) & 1 == 1
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

    /// The same, as text; `nil` when it is not UTF-8.
    static func decodeText(_ text: some Collection<UInt8>) -> String? {
        let bytes = decode(text)
        // What is not UTF-8 comes out otherwise. `String(validating:as:)` came with iOS 18 and macOS 15.
        let decoded = String(decoding: bytes, as: UTF8.self)
        return decoded.utf8.elementsEqual(bytes) ? decoded : nil
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
