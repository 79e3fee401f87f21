package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The claims set of a token (RFC 7519 §4).
package struct Claims: Sendable, Equatable {
    private static let maximumDepth = 8
    /// The end of the year 9999: what is later is a mistake, such as milliseconds.
    private static let latest = 253_402_300_799.0

    private let members: JSON.Object

    package init(_ payload: [UInt8]) throws(TokenError) {
        guard let json = try? JSON(parsing: payload, maximumDepth: Self.maximumDepth), let members = json.object else {
            throw .badClaims
        }
        self.members = members
    }

    /// The value of a claim; `nil` when it is absent.
    package subscript(name: String) -> JSON? { members[name] }

    /// A string that must be there, between 1 byte and the maximum, without control characters.
    package func text(
        _ name: String, maximumByteCount: Int, otherwise error: TokenError
    ) throws(TokenError) -> String {
        guard let text = members[name]?.string, Self.isPlain(text, maximumByteCount) else { throw error }
        return text
    }

    /// The same, but it may be absent or null.
    package func optionalText(_ name: String, maximumByteCount: Int) throws(TokenError) -> String? {
        guard let value = members[name], value != .null else { return nil }
        guard let text = value.string, Self.isPlain(text, maximumByteCount) else { throw .badClaims }
        return text
    }

    /// `aud`: one string, or an array of them (RFC 7519 §4.1.3).
    package func audiences() throws(TokenError) -> [String] {
        guard let value = members["aud"] else { throw .wrongAudience }
        guard let audiences = value.string.map({ [$0] }) ?? value.strings else { throw .badClaims }
        return audiences
    }

    /// - Parameter leeway: the difference of clocks we forgive, in either direction.
    /// - Returns: the instant of `exp`.
    package func checkTimes(now: Date, leeway: Duration) throws(TokenError) -> Date {
        let leeway = leeway / .seconds(1)
        guard let expiration = try date("exp") else { throw .unlimited }
        guard now.timeIntervalSince(expiration) < leeway else { throw .expired }
        if let start = try date("nbf"), start.timeIntervalSince(now) > leeway { throw .notYetValid }
        if let issue = try date("iat"), issue.timeIntervalSince(now) > leeway { throw .issuedInTheFuture }
        return expiration
    }

    /// A NumericDate (RFC 7519 §2); `nil` when it is absent.
    package func date(_ name: String) throws(TokenError) -> Date? {
        guard let value = members[name] else { return nil }
        guard let seconds = value.number, (0...Self.latest).contains(seconds) else { throw .badClaims }
        return Date(timeIntervalSince1970: seconds)
    }

    private static func isPlain(_ text: String, _ maximumByteCount: Int) -> Bool {
        (1...maximumByteCount).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
