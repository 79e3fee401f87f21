import COpenSSL
import Synchronization

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    package static let byteCount = 32

    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            var length: UInt32 = 0
            let done = unsafe EVP_Digest(bytes, bytes.count, buffer.baseAddress, &length, Algorithms.sha256, nil)
            precondition(done == 1, "EVP_Digest failed")
            count = Int(length)
        }
    }

    package static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] { hash(Array(bytes)) }
}

/// HMAC with SHA-256 (RFC 2104), the key set up once.
package final class HMACSHA256: Sendable {
    // One context for all messages: a duplicate for each would cost more than a short message does.
    private let keyed: Mutex<Context>

    package init(key: some Collection<UInt8>) { keyed = Mutex(Context(key: Array(key))) }

    package func authenticate(_ message: [UInt8]) -> [UInt8] { keyed.withLock { $0.authenticate(message) } }

    package func authenticate(_ message: some Collection<UInt8>) -> [UInt8] { authenticate(Array(message)) }

    @safe private struct Context: ~Copyable {
        private let handle: OpaquePointer

        init(key: [UInt8]) {
            guard let context = unsafe EVP_MAC_CTX_new(Algorithms.hmac) else { preconditionFailure("EVP_MAC_CTX_new") }
            unsafe handle = context
            // An empty key must still be a pointer, or OpenSSL takes it for "keep the key".
            let started = unsafe cloakroom_hmac_sha256_init(context, key + [0], key.count)
            precondition(started == 1, "EVP_MAC_init failed")
        }

        deinit { unsafe EVP_MAC_CTX_free(handle) }

        func authenticate(_ message: [UInt8]) -> [UInt8] {
            unsafe [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, count in
                // From the start, with the key it has.
                let started = unsafe EVP_MAC_init(handle, nil, 0, nil)
                let updated = unsafe EVP_MAC_update(handle, message, message.count)
                let finished = unsafe EVP_MAC_final(handle, buffer.baseAddress, &count, SHA256.byteCount)
                precondition(started == 1 && updated == 1 && finished == 1, "EVP_MAC failed")
            }
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
