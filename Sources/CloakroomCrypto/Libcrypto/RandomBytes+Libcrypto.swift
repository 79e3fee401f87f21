#if !canImport(CryptoKit)
    import CloakroomCOpenSSL

    /// - Returns: unpredictable bytes, from libcrypto's generator.
    package func randomBytes(_ count: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let done = unsafe RAND_bytes(buffer.baseAddress, Int32(count))
            precondition(done == 1, "RAND_bytes failed")
            initialized = count
        }
    }
#endif
