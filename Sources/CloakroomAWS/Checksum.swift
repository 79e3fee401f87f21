import CloakroomHTTP

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// CRC-32 (ISO/IEC 8802-3, reflected, polynomial 0x04C11DB7), as `x-amz-checksum-crc32` carries it: base64 of four bytes,
/// the highest first.
///
/// What AWS's SDKs send where S3 wants a checksum; unlike MD5, every crypto library's policy allows it.
enum Checksum {
    /// As AWS's SDKs send them with a body.
    static func fields(of body: [UInt8]) -> HeaderFields {
        ["x-amz-checksum-crc32": text(body), "x-amz-sdk-checksum-algorithm": "CRC32"]
    }

    static func text(_ bytes: [UInt8]) -> String {
        let value = crc32(bytes)
        return Data((0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }).base64EncodedString()
    }

    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var sum: UInt32 = .max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }
}
