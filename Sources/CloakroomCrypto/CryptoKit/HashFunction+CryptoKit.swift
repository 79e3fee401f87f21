#if canImport(CryptoKit)
    import CryptoKit

    extension HashFunction {
        /// - Parameter buffer: of ``byteCount`` bytes.
        func hash(_ bytes: [UInt8], into buffer: UnsafeMutableBufferPointer<UInt8>) {
            switch self {
            case .sha256: unsafe copy(CryptoKit.SHA256.hash(data: bytes), into: buffer)
            case .sha384: unsafe copy(CryptoKit.SHA384.hash(data: bytes), into: buffer)
            case .sha512: unsafe copy(CryptoKit.SHA512.hash(data: bytes), into: buffer)
            }
        }

        private func copy(_ digest: some Digest, into buffer: UnsafeMutableBufferPointer<UInt8>) {
            unsafe digest.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
        }
    }
#endif
