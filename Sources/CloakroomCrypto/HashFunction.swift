/// The digests that tokens are signed over (FIPS 180-4).
package enum HashFunction: Sendable, Hashable, CaseIterable {
    case sha256, sha384, sha512

    package var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    package func hash(_ bytes: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            unsafe bytes.withUnsafeBytes { unsafe hash($0, into: buffer) }
            count = byteCount
        }
    }
}
