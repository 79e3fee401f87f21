#if !canImport(CryptoKit)
    /// HMAC with SHA-256 (RFC 2104); the key's blocks are digested once.
    package final class HMACSHA256: Sendable, CustomReflectable {
        private let inner: SHA256State
        private let outer: SHA256State

        private static let blockByteCount = 64

        package init(key: some Collection<UInt8>) {
            var block = key.count > Self.blockByteCount ? SHA256.hash(key) : Array(key)
            block += [UInt8](repeating: 0, count: Self.blockByteCount - block.count)
            inner = Self.begun(with: block.map { $0 ^ 0x36 })
            outer = Self.begun(with: block.map { $0 ^ 0x5C })
        }

        private static func begun(with block: [UInt8]) -> SHA256State {
            var state = SHA256State()
            unsafe block.withUnsafeBytes { unsafe state.update($0) }
            return state
        }

        package func authenticate(_ message: [UInt8]) -> [UInt8] {
            unsafe [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, count in
                var (inner, outer) = (inner, outer)
                unsafe message.withUnsafeBytes { unsafe inner.update($0) }
                unsafe inner.finalize(into: buffer)
                unsafe outer.update(UnsafeRawBufferPointer(start: buffer.baseAddress, count: SHA256.byteCount))
                unsafe outer.finalize(into: buffer)
                count = SHA256.byteCount
            }
        }

        package func authenticate(_ message: some Collection<UInt8>) -> [UInt8] { authenticate(Array(message)) }

        package var customMirror: Mirror { Mirror(self, children: []) }
    }
#endif
