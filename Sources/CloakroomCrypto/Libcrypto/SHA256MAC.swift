#if !canImport(CryptoKit)
    /// HMAC with SHA-256 (RFC 2104): the key's two blocks, digested once.
    struct SHA256MAC: Sendable {
        private let inner: SHA256State
        private let outer: SHA256State

        private static let blockByteCount = 64

        init(key: [UInt8]) {
            var block = key.count > Self.blockByteCount ? SHA256.hash(key) : key
            block += [UInt8](repeating: 0, count: Self.blockByteCount - block.count)
            inner = Self.begun(with: block.map { $0 ^ 0x36 })
            outer = Self.begun(with: block.map { $0 ^ 0x5C })
        }

        private static func begun(with block: [UInt8]) -> SHA256State {
            var state = SHA256State()
            unsafe block.withUnsafeBytes { unsafe state.update($0) }
            return state
        }

        func authenticate(_ message: UnsafeRawBufferPointer) -> [UInt8] {
            unsafe [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, count in
                var (inner, outer) = (inner, outer)
                unsafe inner.update(message)
                unsafe inner.finalize(into: buffer)
                unsafe outer.update(UnsafeRawBufferPointer(start: buffer.baseAddress, count: SHA256.byteCount))
                unsafe outer.finalize(into: buffer)
                count = SHA256.byteCount
            }
        }
    }
#endif
