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

    package static func random() -> Self { Self(key: randomBytes(byteCount)) }

    private init(key: [UInt8]) { self.key = key }

    /// The 32 bytes, to be stored where they are sealed in turn.
    package func reveal() -> [UInt8] { key }

    package var description: String { "<secret>" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// - Parameters:
    ///   - message: bytes of any kind; those of `Data` and of slices are not copied.
    ///   - context: what must be the same when it is opened; it is not in what comes out.
    /// - Returns: nonce, sealed bytes, tag.
    package func seal(_ message: some Collection<UInt8>, context: [UInt8]) -> [UInt8] {
        seal(message, context: context, nonce: randomBytes(Self.nonceByteCount))
    }

    /// - Parameter nonce: 12 bytes that this key has never seen: two messages with the same one give away both.
    package func seal(_ message: some Collection<UInt8>, context: [UInt8], nonce: [UInt8]) -> [UInt8] {
        precondition(nonce.count == Self.nonceByteCount, "a nonce has 12 bytes")
        // Other modules get this generic function unspecialised: a call for each byte. Hence the inner one.
        let whole = message.withContiguousStorageIfAvailable { unsafe sealed($0, context: context, nonce: nonce) }
        return unsafe whole
            ?? Array(message).withUnsafeBufferPointer { unsafe sealed($0, context: context, nonce: nonce) }
    }

    /// - Returns: the message; `nil` when it was sealed with another key or another context, or changed since.
    package func open(_ sealed: some Collection<UInt8>, context: [UInt8]) -> [UInt8]? {
        // As for `seal`.
        let whole = sealed.withContiguousStorageIfAvailable { unsafe opened($0, context: context) }
        return unsafe whole ?? Array(sealed).withUnsafeBufferPointer { unsafe opened($0, context: context) }
    }
}

/// Seals many messages, each with its own key: what the cipher needs is made once. For one caller at a time.
package final class Sealer {
    #if !canImport(CryptoKit)
        private let cipher = SealingKey.Cipher()
    #endif

    package init() {}

    /// As ``SealingKey/seal(_:context:nonce:)``.
    package func seal(
        _ message: some Collection<UInt8>, with key: SealingKey, context: [UInt8], nonce: [UInt8]
    ) -> [UInt8] {
        precondition(nonce.count == SealingKey.nonceByteCount, "a nonce has 12 bytes")
        let whole = message.withContiguousStorageIfAvailable {
            unsafe sealed($0, with: key, context: context, nonce: nonce)
        }
        return unsafe whole
            ?? Array(message).withUnsafeBufferPointer {
                unsafe sealed($0, with: key, context: context, nonce: nonce)
            }
    }

    private func sealed(
        _ message: UnsafeBufferPointer<UInt8>, with key: SealingKey, context: [UInt8], nonce: [UInt8]
    ) -> [UInt8] {
        #if canImport(CryptoKit)
            unsafe key.sealed(message, context: context, nonce: nonce)
        #else
            unsafe key.sealed(message, context: context, nonce: nonce, by: cipher)
        #endif
    }
}
