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

#if !canImport(CryptoKit)
    import CloakroomCOpenSSL
    import Synchronization

    /// HMAC as libcrypto's own, for the long hashes, which few tokens are signed with.
    final class LibcryptoHMAC: Sendable {
        // One context for all messages: a duplicate for each would cost more than a short message does.
        private let keyed: Mutex<Context>

        init(_ hash: HashFunction, key: [UInt8]) { keyed = Mutex(Context(hash, key: key)) }

        func authenticate(_ message: [UInt8]) -> [UInt8] { keyed.withLock { $0.authenticate(message) } }

        @safe private struct Context: ~Copyable {
            private let handle: OpaquePointer
            private let byteCount: Int

            init(_ hash: HashFunction, key: [UInt8]) {
                guard let context = unsafe EVP_MAC_CTX_new(Algorithms.hmac) else {
                    preconditionFailure("EVP_MAC_CTX_new")
                }
                unsafe handle = context
                byteCount = hash.byteCount
                // An empty key must still be a pointer, or OpenSSL takes it for "keep the key".
                let started = unsafe cloakroom_hmac_init(context, EVP_MD_get0_name(hash.method), key + [0], key.count)
                precondition(started == 1, "EVP_MAC_init failed")
            }

            deinit { unsafe EVP_MAC_CTX_free(handle) }

            func authenticate(_ message: [UInt8]) -> [UInt8] {
                unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                    // From the start, with the key it has.
                    let started = unsafe EVP_MAC_init(handle, nil, 0, nil)
                    let updated = unsafe EVP_MAC_update(handle, message, message.count)
                    let finished = unsafe EVP_MAC_final(handle, buffer.baseAddress, &count, byteCount)
                    precondition(started == 1 && updated == 1 && finished == 1, "EVP_MAC failed")
                }
            }
        }
    }
#endif
