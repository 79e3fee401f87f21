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
