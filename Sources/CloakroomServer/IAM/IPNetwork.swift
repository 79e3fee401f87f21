#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An address, or all addresses that begin alike, as IAM writes them: `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`.
///
/// Source: IAM User Guide, "IAM JSON policy elements: Condition operators", "IP address condition operators".
package struct IPNetwork: Sendable, Equatable {
    /// 4 bytes, or 16.
    private let bytes: [UInt8]
    /// How many bits the addresses share.
    private let prefixLength: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let bytes = Self.bytes(String(parts[0])) else { return nil }
        self.bytes = bytes
        guard parts.count == 2 else {
            prefixLength = bytes.count * 8
            return
        }
        guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let length = Int(parts[1]), length <= bytes.count * 8
        else { return nil }
        prefixLength = length
    }

    /// A client as nginx names it, in the family that S3 sees: an IPv4 address mapped into IPv6 is that IPv4 address
    /// (RFC 4291 §2.5.5.2).
    ///
    /// - Parameter text: an address; `unix:` is none.
    package static func clientAddress(_ text: String) -> String? {
        let mapped = "::ffff:"
        let address = text.lowercased().hasPrefix(mapped) ? String(text.dropFirst(mapped.count)) : text
        return bytes(address) == nil ? nil : address
    }

    /// An address in the one form that is canonical (RFC 5952, as inet_ntop(3) writes it); `nil` for what is none.
    static func canonical(_ text: String) -> String? {
        guard let bytes = bytes(text) else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        let written = unsafe bytes.withUnsafeBytes { bytes in
            unsafe buffer.withUnsafeMutableBufferPointer { buffer in
                unsafe inet_ntop(family, bytes.baseAddress, buffer.baseAddress, socklen_t(INET6_ADDRSTRLEN)) != nil
            }
        }
        return written ? String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self) : nil
    }

    package func contains(_ other: IPNetwork) -> Bool {
        guard bytes.count == other.bytes.count, prefixLength <= other.prefixLength else { return false }
        let whole = prefixLength / 8
        guard bytes[..<whole] == other.bytes[..<whole] else { return false }
        let rest = prefixLength % 8
        return rest == 0 || (bytes[whole] ^ other.bytes[whole]) >> (8 - rest) == 0
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        // No zone, which inet_pton takes on some systems: it means nothing to S3.
        guard text.utf8.count <= 45, !text.utf8.contains(UInt8(ascii: "%")) else { return nil }
        let isShort = !text.contains(":")
        var bytes = [UInt8](repeating: 0, count: isShort ? 4 : 16)
        let status = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe inet_pton(isShort ? AF_INET : AF_INET6, text, buffer.baseAddress)
        }
        return status == 1 ? bytes : nil
    }
}
