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
