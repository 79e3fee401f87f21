import CloakroomCrypto
import CloakroomJOSE

/// Secrets that are printed in standards, manuals, examples and published code. Of each there is a prefix of its SHA-256:
/// enough to recognise it, and not to learn it from here.
///
/// `deploy/known-secrets` makes the tables, and names their sources.
enum PublishedSecrets {
    /// Whether it is a published key of 32 bytes or more, as text or as the bytes that it encodes.
    static func contains(_ key: [UInt8]) -> Bool {
        [key, Array(Base64URL.encode(key).utf8), Array(key.hexadecimal.utf8)]
            .contains { isListed(prefix(of: normal($0))) }
    }

    /// Without its padding a key of 32 bytes may be a word.
    private static func isListed(_ prefix: UInt64) -> Bool { keys.contains(prefix) || words.contains(prefix) }

    /// Whether it is a published word of 5 to 31 bytes, and such padding before or behind it as is tried first.
    static func isMade(_ key: [UInt8]) -> Bool {
        let text = normal(key)
        for count in wordBytes where count < text.count {
            let (head, tail) = (text[..<count], text[count...])
            if isPadding(tail, of: head), words.contains(prefix(of: head)) { return true }
            let (lead, end) = (text[..<(text.count - count)], text[(text.count - count)...])
            if isPadding(lead, of: end), words.contains(prefix(of: end)) { return true }
        }
        return false
    }

    private static let wordBytes = 5...31
    /// That many digits and signs are guessed with the word.
    private static let mostSigns = 12

    private static func isPadding(_ rest: ArraySlice<UInt8>, of word: ArraySlice<UInt8>) -> Bool {
        let steps = zip(rest, rest.dropFirst()).lazy.map { $1 &- $0 }
        if steps.allSatisfy({ $0 == 0 }) || steps.allSatisfy({ $0 == 1 }) { return true }
        if rest.count <= mostSigns, rest.allSatisfy({ !isLetter($0) }) { return true }
        // The word again, as far as there is room.
        return isRepeated(word, in: rest)
    }

    private static func isRepeated(_ word: ArraySlice<UInt8>, in rest: ArraySlice<UInt8>) -> Bool {
        var index = word.startIndex
        for byte in rest {
            guard byte == word[index] else { return false }
            index = word.index(after: index)
            if index == word.endIndex { index = word.startIndex }
        }
        return true
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    /// In small letters, base64 as base64url without padding.
    private static func normal(_ key: [UInt8]) -> [UInt8] {
        key.compactMap { byte in
            switch byte {
            case UInt8(ascii: "="): nil
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            default: byte
            }
        }
    }

    private static func prefix(of text: some Collection<UInt8>) -> UInt64 {
        SHA256.hash(text).prefix(6).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// - Parameter rows: six bytes each in base64url, one after the other.
    static func table(_ rows: String) -> Set<UInt64> {
        let bytes = Base64URL.decode(rows.utf8.filter { $0 > 0x20 }) ?? []
        return Set(
            stride(from: 0, to: bytes.count, by: 6).map { start in
                bytes[start..<start + 6].reduce(0) { $0 << 8 | UInt64($1) }
            })
    }
}
