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
