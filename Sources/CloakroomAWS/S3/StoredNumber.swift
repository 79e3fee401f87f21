/// Decimal numbers of a store's response, within what S3 allows: digits alone, no sign, nothing that arithmetic on it could
/// overflow.
///
/// Source: Amazon S3 User Guide, "Multipart upload limits".
enum StoredNumber {
    /// Of an object, in bytes.
    static let maximumObjectBytes = 5 << 40
    static let maximumParts = 10_000

    /// - Returns: `nil` for anything but a size in bytes that an object may have.
    static func byteCount(_ text: String) -> Int? { number(text, in: 0...maximumObjectBytes) }

    static func partNumber(_ text: String) -> Int? { number(text, in: 1...maximumParts) }

    static func number(_ text: String, in range: ClosedRange<Int>) -> Int? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy(isDigit), let number = Int(text) else {
            return nil
        }
        return range.contains(number) ? number : nil
    }
}
