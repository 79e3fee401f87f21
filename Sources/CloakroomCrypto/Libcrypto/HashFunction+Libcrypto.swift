#if !canImport(CryptoKit)
    import COpenSSL

    extension HashFunction {
        /// - Parameter buffer: of ``byteCount`` bytes.
        func hash(_ bytes: [UInt8], into buffer: UnsafeMutableBufferPointer<UInt8>) {
            var length: UInt32 = 0
            let done = unsafe EVP_Digest(bytes, bytes.count, buffer.baseAddress, &length, method, nil)
            precondition(done == 1 && length == byteCount, "EVP_Digest failed")
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
