import CloakroomHTTP

/// The head of a response, line by line as libcurl gives them.
struct CurlResponseHead {
    private(set) var fields = HeaderFields()
    /// libcurl takes a head that breaks off for a whole one.
    private(set) var isWhole = false

    /// Of fields; S3 keeps 2 KB of metadata with an object, in up to a thousand fields.
    private static let maximumBytes = 1 << 16

    /// - Parameter line: with its end.
    /// - Returns: whether there was room. A field is never left out: what is missing of an object's metadata would be lost
    ///   with a copy.
    mutating func take(_ line: Span<UInt8>) -> Bool {
        // Trailer fields, after the body, are none of the head's.
        if isWhole, !Self.isStatus(line) { return true }
        if Self.isEnd(line) {
            isWhole = true
        } else if Self.isStatus(line) {
            // Another one may have come before, such as 100.
            fields = HeaderFields()
            // What S3 mostly says.
            fields.reserve(fields: 12, bytes: 480)
            isWhole = false
        } else {
            guard fields.text.count + line.count <= Self.maximumBytes else { return false }
            takeField(line)
        }
        return true
    }

    private mutating func takeField(_ line: Span<UInt8>) {
        var colon = 0
        while colon < line.count, line[colon] != UInt8(ascii: ":") { colon += 1 }
        guard colon < line.count else { return }
        var (start, end) = (colon + 1, line.count)
        while start < end, Self.isSpace(line[start]) { start += 1 }
        while start < end, Self.isSpace(line[end - 1]) { end -= 1 }
        fields.add(line.extracting(0..<colon), line.extracting(start..<end))
    }

    private static func isEnd(_ line: Span<UInt8>) -> Bool {
        switch line.count {
        case 1: line[0] == 0x0A
        case 2: line[0] == 0x0D && line[1] == 0x0A
        default: false
        }
    }

    private static func isStatus(_ line: Span<UInt8>) -> Bool {
        line.count >= 5 && line[0] == UInt8(ascii: "H") && line[1] == UInt8(ascii: "T")
            && line[2] == UInt8(ascii: "T") && line[3] == UInt8(ascii: "P") && line[4] == UInt8(ascii: "/")
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }
}
