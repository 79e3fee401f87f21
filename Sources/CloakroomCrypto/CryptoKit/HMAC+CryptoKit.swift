#if canImport(CryptoKit)
    import CryptoKit

    package typealias HMACSHA256 = HMAC

    /// HMAC (RFC 2104), with SHA-256 unless told; the key set up once.
    package final class HMAC: Sendable {
        private let hash: HashFunction
        private let key: SymmetricKey

        package init(_ hash: HashFunction = .sha256, key: some Collection<UInt8>) {
            self.hash = hash
            self.key = SymmetricKey(data: Array(key))
        }

        package func authenticate(_ message: [UInt8]) -> [UInt8] {
            switch hash {
            case .sha256: Array(CryptoKit.HMAC<CryptoKit.SHA256>.authenticationCode(for: message, using: key))
            case .sha384: Array(CryptoKit.HMAC<CryptoKit.SHA384>.authenticationCode(for: message, using: key))
            case .sha512: Array(CryptoKit.HMAC<CryptoKit.SHA512>.authenticationCode(for: message, using: key))
            }
        }

        package func authenticate(_ message: some Collection<UInt8>) -> [UInt8] { authenticate(Array(message)) }
    }
#endif
