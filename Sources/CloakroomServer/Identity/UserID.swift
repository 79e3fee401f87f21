/// A user id that is safe in every place it goes to: object keys, IAM policies, session names, tags.
///
/// Holds 1 to 64 of `A-Z a-z 0-9 _ -`. None of these means anything in JSON, in an IAM policy, in a path or in a query,
/// so the text of a `UserID` may be put there as it is.
package struct UserID: Sendable, Hashable {
    package static let maximumLength = 64

    package let text: String

    /// - Returns: `nil` for a text with any other character, or of another length.
    package init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.isSafe) else { return nil }
        self.text = text
    }

    private static func isSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
