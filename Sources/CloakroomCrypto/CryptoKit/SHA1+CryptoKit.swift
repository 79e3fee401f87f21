#if canImport(CryptoKit)
    import CryptoKit

    /// SHA-1 (FIPS 180-4), for name-based UUIDs alone: nothing may rest on its strength.
    package enum SHA1 {
        package static let byteCount = 20

        package static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(Insecure.SHA1.hash(data: bytes)) }
    }
#endif
