import COpenSSL

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
            unsafe hash(bytes, into: buffer)
            count = byteCount
        }
    }

    /// - Parameter buffer: of ``byteCount`` bytes.
    func hash(_ bytes: [UInt8], into buffer: UnsafeMutableBufferPointer<UInt8>) {
        var length: UInt32 = 0
        let done = unsafe EVP_Digest(bytes, bytes.count, buffer.baseAddress, &length, method, nil)
        precondition(done == 1 && length == byteCount, "EVP_Digest failed")
    }

    /// The fetched method.
    @safe var method: OpaquePointer {
        switch self {
        case .sha256: unsafe Algorithms.sha256
        case .sha384: unsafe Algorithms.sha384
        case .sha512: unsafe Algorithms.sha512
        }
    }
}
