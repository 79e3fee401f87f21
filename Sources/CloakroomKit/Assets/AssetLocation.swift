import Foundation

/// A URL, parsed for its key (RFC 3986 §3).
///
/// `URL.path` would not do: systems differ in what it does to slashes at the end and to bytes that are no UTF-8.
struct AssetLocation {
    /// Lower-case, with the port that is meant when none is named.
    struct Origin: Hashable, Sendable {
        var scheme: String
        var host: String
        var port: Int
    }

    var origin: Origin
    /// Percent-decoded, once; `nil` when a `%` does not stand for a byte.
    var path: [UInt8]?

    /// - Returns: `nil` for anything but `http` or `https` with a host and without a user.
    init?(_ url: URL) {
        // Names of hosts in other scripts are in their ASCII form here.
        let text = url.absoluteString
        guard let schemeEnd = text.range(of: "://") else { return nil }
        let scheme = text[..<schemeEnd.lowerBound].lowercased()
        guard let defaultPort = ["https": 443, "http": 80][scheme] else { return nil }

        let rest = text[schemeEnd.upperBound...].utf8
        let authorityEnd = rest.firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }
        let authority = Substring(rest[..<(authorityEnd ?? rest.endIndex)])
        guard let (host, port) = Self.hostAndPort(authority) else { return nil }
        origin = Origin(scheme: scheme, host: host, port: port ?? defaultPort)

        let afterAuthority = rest[(authorityEnd ?? rest.endIndex)...]
        path = Self.decode(afterAuthority.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
    }

    private static func hostAndPort(_ authority: Substring) -> (host: String, port: Int?)? {
        guard !authority.contains("@") else { return nil }
        // The colons of an IPv6 address are in brackets.
        let addressEnd = authority.lastIndex(of: "]") ?? authority.startIndex
        guard let colon = authority[addressEnd...].lastIndex(of: ":") else {
            return authority.isEmpty ? nil : (authority.lowercased(), nil)
        }
        let host = authority[..<colon].lowercased()
        let digits = authority[authority.index(after: colon)...]
        guard !host.isEmpty else { return nil }
        if digits.isEmpty { return (host, nil) }
        guard let port = UInt16(digits) else { return nil }
        return (host, Int(port))
    }

    private static func decode(_ text: Substring.UTF8View) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexadecimalValue),
                let low = rest.popFirst().flatMap(hexadecimalValue)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func hexadecimalValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
