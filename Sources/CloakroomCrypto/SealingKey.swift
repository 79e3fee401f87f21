/// A key that seals: AES-256-GCM with a random nonce of 96 bits (NIST SP 800-38D).
///
/// One key may seal some four billion messages before the chance that two of them have the same nonce is more than
/// 2⁻³² (SP 800-38D §8.3); then it has to be replaced.
package struct SealingKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package static let byteCount = 32
    package static let nonceByteCount = 12
    package static let tagByteCount = 16

    let key: [UInt8]

    /// - Returns: `nil` unless there are 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        key = bytes
    }

    /// A key of its own for each purpose, from one secret of any length (HMAC-SHA256, as HKDF's first step).
    package init(from secret: [UInt8], purpose: String) {
        key = HMACSHA256(key: secret).authenticate(Array(purpose.utf8))
    }

    package var description: String { "<secret>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// - Parameter context: what must be the same when it is opened; it is not in what comes out.
    /// - Returns: nonce, sealed bytes, tag.
    package func seal(_ message: [UInt8], context: [UInt8]) -> [UInt8] {
        seal(message, context: context, nonce: randomBytes(Self.nonceByteCount))
    }
}
