#if !canImport(CryptoKit)
    import CloakroomCOpenSSL

    extension HashFunction {
        /// - Parameter buffer: of ``byteCount`` bytes.
        func hash(_ bytes: UnsafeRawBufferPointer, into buffer: UnsafeMutableBufferPointer<UInt8>) {
            switch self {
            case .sha256:
                var state = SHA256State()
                unsafe state.update(bytes)
                unsafe state.finalize(into: buffer)
            case .sha384, .sha512:
                var length: UInt32 = 0
                let done = unsafe EVP_Digest(bytes.baseAddress, bytes.count, buffer.baseAddress, &length, method, nil)
                precondition(done == 1 && length == byteCount, "EVP_Digest failed")
            }
        }

        /// The fetched method, for signatures over digests.
        @safe package var method: OpaquePointer {
            switch self {
            case .sha256: unsafe Algorithms.sha256
            case .sha384: unsafe Algorithms.sha384
            case .sha512: unsafe Algorithms.sha512
            }
        }
    }
#endif

#if !canImport(CryptoKit)
    import CloakroomCOpenSSL

    /// A digest under way.
    @safe struct DigestContext: ~Copyable, @unchecked Sendable {
        // Unchecked: the pointer is not shared, and what cannot be copied is used in one place at a time.
        private let handle: OpaquePointer
        private let method: OpaquePointer
        private let byteCount: Int

        init(_ digest: IncrementalDigest) {
            guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("EVP_MD_CTX_new") }
            unsafe handle = context
            unsafe method =
                switch digest {
                case .md5: unsafe Algorithms.md5
                case .sha256: unsafe Algorithms.sha256
                }
            byteCount = unsafe Int(EVP_MD_get_size(method))
            start()
        }

        deinit { unsafe EVP_MD_CTX_free(handle) }

        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            let updated = unsafe EVP_DigestUpdate(handle, bytes.baseAddress, bytes.count)
            precondition(updated == 1, "EVP_DigestUpdate failed")
        }

        /// - Returns: the digest; the next one has begun.
        mutating func finalize() -> [UInt8] {
            let digest = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                var length: UInt32 = 0
                let finished = unsafe EVP_DigestFinal_ex(handle, buffer.baseAddress, &length)
                precondition(finished == 1 && length == byteCount, "EVP_DigestFinal_ex failed")
                count = byteCount
            }
            start()
            return digest
        }

        private func start() {
            let started = unsafe EVP_DigestInit_ex(handle, method, nil)
            precondition(started == 1, "EVP_DigestInit_ex failed")
        }
    }
#endif

#if !canImport(CryptoKit)
    import CloakroomCOpenSSL

    /// SHA-1 (FIPS 180-4), for name-based UUIDs alone: nothing may rest on its strength.
    package enum SHA1 {
        package static let byteCount = 20

        package static func hash(_ bytes: [UInt8]) -> [UInt8] {
            unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                var length: UInt32 = 0
                let done = unsafe EVP_Digest(bytes, bytes.count, buffer.baseAddress, &length, EVP_sha1(), nil)
                precondition(done == 1, "EVP_Digest failed")
                count = Int(length)
            }
        }
    }
#endif

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

#if !canImport(CryptoKit)
    import CloakroomCOpenSSL

    /// SHA-256 under way, as a value: what it has taken of a message can be kept, and gone on with more than once.
    @safe struct SHA256State: Sendable {
        private var context = SHA256_CTX()

        init() { precondition(unsafe cloakroom_sha256_init(&context) == 1, "SHA256_Init failed") }

        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            let updated = unsafe cloakroom_sha256_update(&context, bytes.baseAddress, bytes.count)
            precondition(updated == 1, "SHA256_Update failed")
        }

        /// - Parameter buffer: of 32 bytes. What comes after it is not defined.
        mutating func finalize(into buffer: UnsafeMutableBufferPointer<UInt8>) {
            precondition(buffer.count >= SHA256.byteCount, "no room for a digest")
            let finished = unsafe cloakroom_sha256_final(buffer.baseAddress, &context)
            precondition(finished == 1, "SHA256_Final failed")
        }
    }
#endif

#if !canImport(CryptoKit)
    /// HMAC with SHA-256 (RFC 2104): the key's two blocks, digested once.
    struct SHA256MAC: Sendable {
        private let inner: SHA256State
        private let outer: SHA256State

        private static let blockByteCount = 64

        init(key: [UInt8]) {
            var block = key.count > Self.blockByteCount ? SHA256.hash(key) : key
            block += [UInt8](repeating: 0, count: Self.blockByteCount - block.count)
            inner = Self.begun(with: block.map { $0 ^ 0x36 })
            outer = Self.begun(with: block.map { $0 ^ 0x5C })
        }

        private static func begun(with block: [UInt8]) -> SHA256State {
            var state = SHA256State()
            unsafe block.withUnsafeBytes { unsafe state.update($0) }
            return state
        }

        func authenticate(_ message: UnsafeRawBufferPointer) -> [UInt8] {
            unsafe [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, count in
                var (inner, outer) = (inner, outer)
                unsafe inner.update(message)
                unsafe inner.finalize(into: buffer)
                unsafe outer.update(UnsafeRawBufferPointer(start: buffer.baseAddress, count: SHA256.byteCount))
                unsafe outer.finalize(into: buffer)
                count = SHA256.byteCount
            }
        }
    }
#endif
