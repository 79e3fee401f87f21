#if !canImport(CryptoKit)
    import CloakroomCOpenSSL

    /// Fetched once: each fetch walks the providers under a lock.
    enum Algorithms {
        nonisolated(unsafe) static let md5: OpaquePointer = unsafe fetched(EVP_MD_fetch(nil, "MD5", nil))
        nonisolated(unsafe) static let sha256: OpaquePointer = unsafe fetched(EVP_MD_fetch(nil, "SHA256", nil))
        // Written once, before anyone reads; libcrypto's method objects are safe to share.
        nonisolated(unsafe) static let sha384: OpaquePointer = unsafe fetched(EVP_MD_fetch(nil, "SHA384", nil))
        nonisolated(unsafe) static let sha512: OpaquePointer = unsafe fetched(EVP_MD_fetch(nil, "SHA512", nil))
        nonisolated(unsafe) static let aes256GCM: OpaquePointer = unsafe fetched(
            EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))
        nonisolated(unsafe) static let hmac: OpaquePointer = unsafe fetched(EVP_MAC_fetch(nil, "HMAC", nil))

        private static func fetched(_ algorithm: OpaquePointer?) -> OpaquePointer {
            guard let algorithm = unsafe algorithm else { preconditionFailure("libcrypto lacks a default algorithm") }
            return unsafe algorithm
        }
    }
#endif
