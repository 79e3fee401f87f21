#if canImport(CryptoKit)
    import CryptoKit

    /// A digest under way.
    struct DigestContext: ~Copyable, Sendable {
        // In place: a function taken out of an enum and put back would copy its state for each piece.
        private var md5: Insecure.MD5?
        private var sha256: CryptoKit.SHA256?
        private let digest: IncrementalDigest

        init(_ digest: IncrementalDigest) {
            self.digest = digest
            start()
        }

        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            unsafe md5?.update(bufferPointer: bytes)
            unsafe sha256?.update(bufferPointer: bytes)
        }

        /// - Returns: the digest; the next one has begun.
        mutating func finalize() -> [UInt8] {
            defer { start() }
            return md5.map { Array($0.finalize()) } ?? sha256.map { Array($0.finalize()) } ?? []
        }

        private mutating func start() {
            switch digest {
            case .md5: md5 = Insecure.MD5()
            case .sha256: sha256 = CryptoKit.SHA256()
            }
        }
    }
#endif
