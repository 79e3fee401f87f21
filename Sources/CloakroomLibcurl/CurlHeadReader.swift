/// Reads the head of a response, line by line as libcurl gives them; it copies nothing.
///
/// libcurl itself takes a head that breaks off for a whole one, and gives the lines of interim responses and the trailer
/// fields behind a body in the same way.
package struct CurlHeadReader {
    package enum Line {
        /// The status line. Fields before it are of an interim response, such as 100.
        case status
        /// Where its name and its value stand in the line, without the space around them.
        case field(name: Range<Int>, value: Range<Int>)
        /// The head has ended.
        case end
        /// Of no consequence.
        case nothing
        /// No response of HTTP.
        case unusable
        /// More than there is room for.
        case tooLong
    }

    /// 0 before the first status line, and for one without a status.
    package private(set) var status = 0
    /// Whether the head of a response that is not an interim one has ended.
    package private(set) var isWhole = false
    private var byteCount = 0
    private let maximumBytes: Int

    /// - Parameter maximumBytes: of all lines.
    package init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// - Parameter line: with its end.
    package mutating func read(_ line: Span<UInt8>) -> Line {
        // What comes after the body tells nothing about it.
        if isWhole { return .nothing }
        byteCount += line.count
        guard byteCount <= maximumBytes else { return .tooLong }
        if Self.isEnd(line) { return end() }
        if Self.isStatus(line) {
            status = Self.status(line)
            return .status
        }
        var colon = 0
        while colon < line.count, line[colon] != UInt8(ascii: ":") { colon += 1 }
        guard colon < line.count else { return .nothing }
        return .field(name: Self.trimmed(0..<colon, of: line), value: Self.trimmed(colon + 1..<line.count, of: line))
    }

    private mutating func end() -> Line {
        switch status {
        // No request asks for another protocol.
        case 101: return .unusable
        case 100...199: return .nothing
        case 200...999:
            isWhole = true
            return .end
        default: return .unusable
        }
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

    /// The number behind the version; 0 where there is none of up to four digits.
    private static func status(_ line: Span<UInt8>) -> Int {
        var index = 5
        while index < line.count, line[index] != 0x20 { index += 1 }
        while index < line.count, line[index] == 0x20 { index += 1 }
        let end = min(index + 4, line.count)
        var status = 0
        while index < end, case let digit = line[index] &- UInt8(ascii: "0"), digit < 10 {
            status = status * 10 + Int(digit)
            index += 1
        }
        return index == line.count || isSpace(line[index]) ? status : 0
    }

    private static func trimmed(_ range: Range<Int>, of line: Span<UInt8>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, isSpace(line[start]) { start += 1 }
        while start < end, isSpace(line[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }
}
