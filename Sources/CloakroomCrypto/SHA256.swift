/// SHA-256 (FIPS 180-4): of bytes that are all there, or of bytes that come in pieces.
///
/// A value takes the pieces of one message after the other and cannot be copied.
package struct SHA256: ~Copyable, Sendable {
    package static let byteCount = 32

    private var context = DigestContext(.sha256)

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { unsafe context.update(bytes) }

    package mutating func update(_ bytes: some Collection<UInt8>) { context.update(bytes) }

    /// - Returns: the digest of all that came; what comes now is another message.
    package mutating func finalize() -> [UInt8] { context.finalize() }

    package static func hash(_ bytes: [UInt8]) -> [UInt8] { HashFunction.sha256.hash(bytes) }

    package static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] { hash(Array(bytes)) }

    /// The same as a value: the key of a table then lies in the table.
    package static func digest(_ bytes: Span<UInt8>) -> Digest {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        unsafe withUnsafeMutableBytes(of: &words) { buffer in
            let buffer = unsafe buffer.bindMemory(to: UInt8.self)
            unsafe bytes.withUnsafeBytes { unsafe HashFunction.sha256.hash($0, into: buffer) }
        }
        return Digest(first: words.0, second: words.1, third: words.2, fourth: words.3)
    }

    package static func digest(_ bytes: [UInt8]) -> Digest {
        let slice = bytes[...]
        return digest(slice.span)
    }

    package struct Digest: Sendable, Hashable {
        fileprivate let first, second, third, fourth: UInt64

        /// One word tells digests apart; it is infeasible to make many that share it.
        package func hash(into hasher: inout Hasher) { hasher.combine(first) }
    }
}
