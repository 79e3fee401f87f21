/// RFC 3986 percent-encoding as SigV4 wants it: everything but `A-Za-z0-9-._~`, in upper-case hexadecimal.
package enum PercentEncoding {
    package static func encode(_ text: String, keepingSlashes: Bool = false) -> String {
        var bytes: [UInt8] = []
        append(text.utf8.span, keepingSlashes: keepingSlashes, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func append(_ text: Span<UInt8>, keepingSlashes: Bool = false, to bytes: inout [UInt8]) {
        let digits: InlineArray<16, UInt8> = [
            0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46,
        ]
        bytes.append(addingCapacity: 3 * text.count) { output in
            for index in text.indices {
                let byte = text[index]
                if isUnreserved(byte) || (keepingSlashes && byte == UInt8(ascii: "/")) {
                    output.append(byte)
                } else {
                    output.append(UInt8(ascii: "%"))
                    output.append(digits[Int(byte >> 4)])
                    output.append(digits[Int(byte & 15)])
                }
            }
        }
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
