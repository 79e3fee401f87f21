import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    package static let byteCount = 32

    package static func hash(_ bytes: [UInt8]) -> [UInt8] { HashFunction.sha256.hash(bytes) }

    package static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] { hash(Array(bytes)) }

    /// The same as a value: the key of a table then lies in the table.
    package static func digest(_ bytes: [UInt8]) -> Digest {
        var words: InlineArray<4, UInt64> = [0, 0, 0, 0]
        unsafe withUnsafeMutableBytes(of: &words) { buffer in
            unsafe HashFunction.sha256.hash(bytes, into: buffer.bindMemory(to: UInt8.self))
        }
        return Digest(first: words[0], second: words[1], third: words[2], fourth: words[3])
    }

    package struct Digest: Sendable, Hashable {
        fileprivate let first, second, third, fourth: UInt64

        /// One word tells digests apart; nobody can make many that share it.
        package func hash(into hasher: inout Hasher) { hasher.combine(first) }
    }
}

/// Fetched once: each fetch walks the providers under a lock.
enum Algorithms {
    nonisolated(unsafe) static let sha256: OpaquePointer = unsafe fetched(EVP_MD_fetch(nil, "SHA256", nil))
    // Written once, before anyone reads; libcrypto's method objects are safe to share.
    nonisolated(unsafe) static let sha384: OpaquePointer = unsafe fetched(EVP_MD_fetch(nil, "SHA384", nil))
    nonisolated(unsafe) static let sha512: OpaquePointer = unsafe fetched(EVP_MD_fetch(nil, "SHA512", nil))
    nonisolated(unsafe) static let aes256GCM: OpaquePointer = unsafe fetched(EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))
    nonisolated(unsafe) static let hmac: OpaquePointer = unsafe fetched(EVP_MAC_fetch(nil, "HMAC", nil))

    private static func fetched(_ algorithm: OpaquePointer?) -> OpaquePointer {
        guard let algorithm = unsafe algorithm else { preconditionFailure("libcrypto lacks a default algorithm") }
        return unsafe algorithm
    }
}
