/// The two forms of an ECDSA signature: r and s side by side, as JOSE has it, and in DER, as libcrypto takes it.
enum ECDSASignature {
    /// - Parameter raw: two numbers of the same length.
    /// - Returns: `SEQUENCE { r INTEGER, s INTEGER }`, each in its shortest form (RFC 3279 §2.2.3, X.690 §8.3).
    static func der(_ raw: [UInt8]) -> [UInt8] {
        let half = raw.count / 2
        let body = integer(raw[..<half]) + integer(raw[half...])
        // At most 138 bytes: P-521's two numbers with their heads.
        return body.count < 128 ? [0x30, UInt8(body.count)] + body : [0x30, 0x81, UInt8(body.count)] + body
    }

    /// - Parameter der: as libcrypto writes it.
    /// - Returns: `nil` for what it does not write.
    static func raw(_ der: [UInt8], coordinateByteCount: Int) -> [UInt8]? {
        var rest = der[...]
        guard let body = content(of: &rest, tag: 0x30), rest.isEmpty else { return nil }
        rest = body
        guard let r = content(of: &rest, tag: 2), let s = content(of: &rest, tag: 2), rest.isEmpty else { return nil }
        let numbers = [r, s].map { $0.drop { $0 == 0 } }
        guard numbers.allSatisfy({ $0.count <= coordinateByteCount }) else { return nil }
        return numbers.flatMap { [UInt8](repeating: 0, count: coordinateByteCount - $0.count) + $0 }
    }

    private static func integer(_ number: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(number.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return [2, UInt8(digits.count)] + digits
    }

    private static func content(of bytes: inout ArraySlice<UInt8>, tag: UInt8) -> ArraySlice<UInt8>? {
        guard bytes.popFirst() == tag, var length = bytes.popFirst() else { return nil }
        if length == 0x81 {
            guard let long = bytes.popFirst() else { return nil }
            length = long
        } else if length > 127 {
            return nil
        }
        guard length <= bytes.count else { return nil }
        defer { bytes = bytes.dropFirst(Int(length)) }
        return bytes.prefix(Int(length))
    }
}
