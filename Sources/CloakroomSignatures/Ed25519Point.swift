import CloakroomCOpenSSL

/// What libcrypto does not check of an Ed25519 public key before it computes with it.
enum Ed25519Point {
    static let byteCount = 32

    /// Whether the 32 bytes decode to a point, in the one encoding it has (RFC 8032 §5.1.3).
    static func isOnCurve(_ encoded: [UInt8]) -> Bool {
        guard encoded.count == byteCount, let field = PrimeField() else { return false }
        return field.isPoint(encoded)
    }

    /// Whether eight times the point is the neutral element: its order is 1, 2, 4 or 8.
    ///
    /// - Parameter encoded: of a point on the curve. The y coordinates are those of the eight such points.
    static func isOfSmallOrder(_ encoded: [UInt8]) -> Bool {
        var y = encoded
        y[byteCount - 1] &= 0x7F
        return smallOrder.contains(y)
    }

    /// y of the points of order 4, 1, 2 and twice 8, little-endian.
    private static let smallOrder: [[UInt8]] = [
        [UInt8](repeating: 0, count: 32),
        [1] + [UInt8](repeating: 0, count: 31),
        [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
        [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5, 0xDF,
            0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ],
        [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F, 0x2A, 0x20,
            0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
        ],
    ]
}

/// The numbers modulo 2²⁵⁵ − 19, with room to compute.
@safe private struct PrimeField: ~Copyable {
    private let context: OpaquePointer
    private let prime: OpaquePointer

    init?() {
        guard let context = unsafe BN_CTX_new() else { return nil }
        guard let prime = unsafe BN_new(), unsafe BN_set_bit(prime, 255) == 1, unsafe BN_sub_word(prime, 19) == 1 else {
            unsafe BN_CTX_free(context)
            return nil
        }
        unsafe self.context = context
        unsafe self.prime = prime
    }

    deinit {
        unsafe BN_free(prime)
        unsafe BN_CTX_free(context)
    }

    /// RFC 8032 §5.1.3: x² = (y² − 1) / (d y² + 1), with d = −121665 / 121666, must have a root.
    ///
    /// Multiplied by 121666: u = 121666 (y² − 1), v = 121666 − 121665 y²; u / v is a square where u v is one.
    func isPoint(_ encoded: [UInt8]) -> Bool {
        unsafe BN_CTX_start(context)
        defer { unsafe BN_CTX_end(context) }
        guard let y = unsafe BN_CTX_get(context), let square = unsafe BN_CTX_get(context),
            let u = unsafe BN_CTX_get(context), let v = unsafe BN_CTX_get(context)
        else { return false }
        var bytes = encoded
        bytes[31] &= 0x7F
        let isNegative = encoded[31] & 0x80 != 0
        guard unsafe BN_lebin2bn(bytes, 32, y) != nil, unsafe BN_cmp(y, prime) < 0,
            unsafe BN_mod_sqr(square, y, prime, context) == 1,
            unsafe BN_copy(u, square) != nil, unsafe BN_sub_word(u, 1) == 1, unsafe BN_mul_word(u, 121_666) == 1,
            unsafe BN_copy(v, square) != nil, unsafe BN_mul_word(v, 121_665) == 1,
            unsafe BN_sub_word(v, 121_666) == 1
        else { return false }
        unsafe BN_set_negative(v, BN_is_negative(v) == 1 ? 0 : 1)
        guard unsafe BN_mod_mul(u, u, v, prime, context) == 1 else { return false }
        // Zero is its own root; but no zero is negative.
        if unsafe BN_is_zero(u) == 1 { return !isNegative }
        return unsafe BN_kronecker(u, prime, context) == 1
    }
}
