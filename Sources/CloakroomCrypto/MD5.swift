/// MD5 (RFC 1321), for names and for `Content-MD5` alone: nothing may rest on its strength.
///
/// Anybody can make two messages with one digest. It names photos by what is in them, and finds bytes that changed on
/// the way by chance. A value takes the pieces of one message after the other and cannot be copied.
package struct MD5: ~Copyable, Sendable {
    package static let byteCount = 16

    private var context = DigestContext(.md5)

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { unsafe context.update(bytes) }

    package mutating func update(_ bytes: some Collection<UInt8>) { context.update(bytes) }

    /// - Returns: the digest of all that came; what comes now is another message.
    package mutating func finalize() -> [UInt8] { context.finalize() }

    package static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var digest = MD5()
        digest.update(bytes)
        return digest.finalize()
    }
}
