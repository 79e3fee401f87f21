#if !canImport(CryptoKit)
    package typealias HMACSHA256 = HMAC

    /// HMAC (RFC 2104), with SHA-256 unless told; the key set up once.
    package final class HMAC: Sendable, CustomReflectable {
        private enum Function: Sendable {
            case sha256(SHA256MAC)
            case other(LibcryptoHMAC)
        }

        private let function: Function

        package init(_ hash: HashFunction = .sha256, key: some Collection<UInt8>) {
            let key = Array(key)
            function =
                switch hash {
                case .sha256: .sha256(SHA256MAC(key: key))
                case .sha384, .sha512: .other(LibcryptoHMAC(hash, key: key))
                }
        }

        package func authenticate(_ message: [UInt8]) -> [UInt8] {
            unsafe message.withUnsafeBytes { unsafe authenticate($0) }
        }

        package func authenticate(_ message: some Collection<UInt8>) -> [UInt8] {
            let whole = message.withContiguousStorageIfAvailable { unsafe authenticate(UnsafeRawBufferPointer($0)) }
            return whole ?? authenticate(Array(message))
        }

        private func authenticate(_ message: UnsafeRawBufferPointer) -> [UInt8] {
            switch function {
            case .sha256(let function): unsafe function.authenticate(message)
            case .other(let function): unsafe function.authenticate(Array(message))
            }
        }

        package var customMirror: Mirror { Mirror(self, children: []) }
    }
#endif
