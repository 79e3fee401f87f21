import CloakroomCrypto

/// The one block of a PEM text (RFC 7468).
struct PEM {
    /// A key of 16384 bits needs about 13 KB, and such are refused anyway.
    static let maximumByteCount = 16384

    let label: String
    let bytes: [UInt8]

    /// - Throws: ``KeyError/unreadable`` for no block, more than one, or one that is not whole.
    init(_ text: [UInt8]) throws(KeyError) {
        guard text.count <= Self.maximumByteCount else { throw .tooLarge }
        let lines = text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }.map(Self.trimmed)
        let starts = lines.indices.filter { lines[$0].starts(with: "-----BEGIN ".utf8) }
        guard starts.count == 1, let start = starts.first,
            let label = Self.label(lines[start], after: "-----BEGIN "),
            let end = lines[start...].firstIndex(where: { $0.starts(with: "-----END ".utf8) }),
            Self.label(lines[end], after: "-----END ") == label
        else { throw .unreadable }
        self.label = label
        // An encrypted block of the old kind has header lines: its label says what it is, its bytes nothing.
        bytes = Base64.decode(lines[start + 1..<end].joined()) ?? []
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let end = line.lastIndex(where: { !isSpace($0) }) else { return [] }
        return line[...end].drop(while: isSpace)
    }

    private static func label(_ line: ArraySlice<UInt8>, after prefix: String) -> String? {
        guard line.starts(with: prefix.utf8), line.suffix(5).elementsEqual("-----".utf8) else { return nil }
        return String(decoding: line.dropFirst(prefix.utf8.count).dropLast(5), as: UTF8.self)
    }
}

/// base64 with padding (RFC 4648 §4), strict.
enum Base64 {
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var characters = Array(text)
        for _ in 0..<2 where characters.last == UInt8(ascii: "=") { characters.removeLast() }
        guard !characters.contains(where: { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }) else { return nil }
        return Base64URL.decode(
            characters.map { byte in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                default: byte
                }
            })
    }
}
