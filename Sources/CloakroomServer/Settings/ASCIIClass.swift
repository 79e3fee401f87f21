/// A set of ASCII characters, written as between the brackets of a regular expression: `"A-Za-z0-9._-"`.
///
/// For what each worker checks as it starts: the engine of `Regex` would stay in its memory from then on.
package struct ASCIIClass: Sendable, ExpressibleByStringLiteral {
    /// A bit for each of the 128.
    private var members: (low: UInt64, high: UInt64) = (0, 0)

    /// - Parameter text: single characters, and ranges such as `a-z`; a `-` that means itself stands last.
    package init(stringLiteral text: StaticString) {
        let bytes = Array("\(text)".utf8)
        var index = 0
        while index < bytes.count {
            let isRange = index + 2 < bytes.count && bytes[index + 1] == UInt8(ascii: "-")
            (bytes[index]...bytes[isRange ? index + 2 : index]).forEach { insert($0) }
            index += isRange ? 3 : 1
        }
    }

    private mutating func insert(_ byte: UInt8) {
        if byte < 64 { members.low |= 1 << UInt64(byte) } else { members.high |= 1 << UInt64(byte & 63) }
    }

    func contains(_ byte: UInt8) -> Bool {
        guard byte < 128 else { return false }
        return (byte < 64 ? members.low : members.high) & 1 << UInt64(byte & 63) != 0
    }

    /// - Parameter count: how many characters there must be.
    package func holdsAll(of text: some StringProtocol, count: ClosedRange<Int> = 1...Int.max) -> Bool {
        var text = String(text)
        return count.contains(text.utf8.count) && text.withUTF8 { unsafe $0.allSatisfy(contains) }
    }

    static let digits: ASCIIClass = "0-9"
    static let hostNames: ASCIIClass = "A-Za-z0-9.-"
    /// Of an IPv6 address, without its brackets.
    static let addresses: ASCIIClass = "0-9A-Fa-f:"
}

/// Scheme, host and port of a URL, and what stands behind them.
package struct WebOrigin {
    /// `http` or `https`.
    let scheme: Substring
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    let host: Substring
    /// Empty, or a colon and 1…5 digits.
    let port: Substring
    /// Empty, or a path, a query or both.
    package let rest: Substring

    /// - Returns: `nil` for anything else, such as a user before the host or a port that is no number of 1…5 digits.
    package init?(_ text: String) {
        guard let colon = text.firstRange(of: "://"), ["http", "https"].contains(text[..<colon.lowerBound]) else {
            return nil
        }
        scheme = text[..<colon.lowerBound]
        let behind = text[colon.upperBound...]
        let end = behind.firstIndex { $0 == "/" || $0 == "?" } ?? behind.endIndex
        rest = behind[end...]
        let authority = behind[..<end]
        let hostEnd: String.Index
        if authority.first == "[" {
            guard let bracket = authority.firstIndex(of: "]"),
                ASCIIClass.addresses.holdsAll(of: authority[..<bracket].dropFirst(), count: 2...45)
            else { return nil }
            hostEnd = authority.index(after: bracket)
        } else {
            hostEnd = authority.firstIndex(of: ":") ?? authority.endIndex
            guard ASCIIClass.hostNames.holdsAll(of: authority[..<hostEnd], count: 1...253) else { return nil }
        }
        host = authority[..<hostEnd]
        port = authority[hostEnd...]
        guard port.isEmpty || port.first == ":" && ASCIIClass.digits.holdsAll(of: port.dropFirst(), count: 1...5) else {
            return nil
        }
    }

    /// Whether the host names this machine itself; other names are not resolved.
    package var isLoopback: Bool { Self.isLoopback(host) }

    /// - Parameter host: an IPv6 address with or without brackets.
    package static func isLoopback(_ host: some StringProtocol) -> Bool {
        if host.lowercased() == "localhost" || host == "[::1]" || host == "::1" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { ASCIIClass.digits.holdsAll(of: $0, count: 1...3) }
    }
}
