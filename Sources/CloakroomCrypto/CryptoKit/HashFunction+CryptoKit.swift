#if canImport(CryptoKit)
    import CryptoKit

    extension HashFunction {
        /// - Parameter buffer: of ``byteCount`` bytes.
        func hash(_ bytes: UnsafeRawBufferPointer, into buffer: UnsafeMutableBufferPointer<UInt8>) {
            switch self {
            case .sha256: unsafe hash(bytes, with: CryptoKit.SHA256(), into: buffer)
            case .sha384: unsafe hash(bytes, with: CryptoKit.SHA384(), into: buffer)
            case .sha512: unsafe hash(bytes, with: CryptoKit.SHA512(), into: buffer)
            }
        }

        private func hash(
            _ bytes: UnsafeRawBufferPointer, with function: some CryptoKit.HashFunction,
            into buffer: UnsafeMutableBufferPointer<UInt8>
        ) {
            var function = function
            unsafe function.update(bufferPointer: bytes)
            let digest = function.finalize()
            unsafe digest.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
        }
    }
#endif
