import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    package static let byteCount = 32

    package static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let whole = bytes.withContiguousStorageIfAvailable { unsafe digest(UnsafeRawBufferPointer($0)) }
        return unsafe whole ?? Array(bytes).withUnsafeBytes { unsafe digest($0) }
    }

    private static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            var length: UInt32 = 0
            let done = unsafe EVP_Digest(
                bytes.baseAddress, bytes.count, buffer.baseAddress, &length, Algorithms.sha256, nil)
            precondition(done == 1, "EVP_Digest failed")
            count = Int(length)
        }
    }
}

/// HMAC with SHA-256 (RFC 2104), the key set up once.
@safe package final class HMACSHA256: @unchecked Sendable {
    // The context is never changed after init: every message works on a duplicate of it.
    private let keyed: OpaquePointer

    package init(key: some Collection<UInt8>) {
        guard let context = unsafe EVP_MAC_CTX_new(Algorithms.hmac) else { preconditionFailure("EVP_MAC_CTX_new") }
        unsafe keyed = context
        // An empty key must still be a pointer, or OpenSSL takes it for "keep the key".
        let bytes = Array(key) + [0]
        let started = unsafe cloakroom_hmac_sha256_init(context, bytes, bytes.count - 1)
        precondition(started == 1, "EVP_MAC_init failed")
    }

    deinit { unsafe EVP_MAC_CTX_free(keyed) }

    package func authenticate(_ message: some Collection<UInt8>) -> [UInt8] {
        let whole = message.withContiguousStorageIfAvailable { unsafe code(UnsafeRawBufferPointer($0)) }
        return unsafe whole ?? Array(message).withUnsafeBytes { unsafe code($0) }
    }

    private func code(_ message: UnsafeRawBufferPointer) -> [UInt8] {
        guard let context = unsafe EVP_MAC_CTX_dup(keyed) else { preconditionFailure("EVP_MAC_CTX_dup") }
        defer { unsafe EVP_MAC_CTX_free(context) }
        return unsafe [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, count in
            var length = 0
            let bytes = unsafe message.bindMemory(to: UInt8.self)
            let updated = unsafe EVP_MAC_update(context, bytes.baseAddress, bytes.count)
            let finished = unsafe EVP_MAC_final(context, buffer.baseAddress, &length, SHA256.byteCount)
            precondition(updated == 1 && finished == 1, "EVP_MAC failed")
            count = length
        }
    }
}

/// Fetched once: each fetch walks the providers under a lock.
enum Algorithms {
    nonisolated(unsafe) static let sha256: OpaquePointer = unsafe fetched(EVP_MD_fetch(nil, "SHA256", nil))
    // Written once, before anyone reads; libcrypto's method objects are safe to share.
    nonisolated(unsafe) static let hmac: OpaquePointer = unsafe fetched(EVP_MAC_fetch(nil, "HMAC", nil))

    private static func fetched(_ algorithm: OpaquePointer?) -> OpaquePointer {
        guard let algorithm = unsafe algorithm else { preconditionFailure("libcrypto lacks a default algorithm") }
        return unsafe algorithm
    }
}
