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
