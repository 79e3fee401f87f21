/// What the head of a response tells of its status, of its body and of the connection, line by line.
struct PlainHTTPResponseHead {
    /// How long the body is (RFC 9112 §6.3).
    enum Body {
        case none
        case length(Int)
        case chunked
        /// To the end of the connection.
        case untilEnd
        /// Another head follows.
        case interim
        /// No request asks for another protocol, and there are no statuses below 100.
        case unusable
    }

    /// 0 before the status line.
    private(set) var status = 0
    private var isVersion10 = false
    private var isChunked = false
    private var length: Int?
    private var closes = false
    private var keepsAlive = false

    private static let beginning = Array("HTTP/1.".utf8)

    var keepsConnection: Bool {
        guard case .untilEnd = body else { return !closes && (!isVersion10 || keepsAlive) }
        return false
    }

    var body: Body {
        switch status {
        case 100, 102...199: .interim
        case 204, 304: .none
        case 200...999: isChunked ? .chunked : length.map { $0 == 0 ? .none : .length($0) } ?? .untilEnd
        default: .unusable
        }
    }

    /// - Parameter line: the beginning of the next one.
    func mayBegin(with line: Span<UInt8>) -> Bool {
        guard status == 0 else { return true }
        for index in 0..<min(line.count, Self.beginning.count) where line[index] != Self.beginning[index] {
            return false
        }
        return true
    }

    /// - Parameter line: without its end, and not empty.
    /// - Returns: whether it can stand in a head.
    mutating func read(_ line: Span<UInt8>) -> Bool {
        guard status > 0 else { return readStatus(line) }
        guard line.holds(UInt8(ascii: ":")), !line.holds(0) else { return false }
        if let value = Self.value(of: "content-length", line) { return readLength(line, value) }
        if let value = Self.value(of: "transfer-encoding", line) { return readCoding(line, value) }
        if let value = Self.value(of: "connection", line) { readConnection(line, value) }
        return true
    }

    /// `HTTP/1.1 200 OK`; the reason may be left out.
    private mutating func readStatus(_ line: Span<UInt8>) -> Bool {
        let first = Self.beginning.count
        guard line.count >= first + 5, mayBegin(with: line), line[first] &- UInt8(ascii: "0") < 10,
            line[first + 1] == 0x20, line.count == first + 5 || line[first + 5] == 0x20
        else { return false }
        isVersion10 = line[first] == UInt8(ascii: "0")
        for index in first + 2..<first + 5 {
            let digit = line[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return false }
            status = status * 10 + Int(digit)
        }
        return status >= 100
    }

    private mutating func readLength(_ line: Span<UInt8>, _ value: Range<Int>) -> Bool {
        var count = 0
        for index in value {
            let digit = line[index] &- UInt8(ascii: "0")
            // So many digits are no length of a response that would be read to its end.
            guard digit < 10, count < 1_000_000_000_000_000 else { return false }
            count = count * 10 + Int(digit)
        }
        length = count
        return !value.isEmpty
    }

    private mutating func readCoding(_ line: Span<UInt8>, _ value: Range<Int>) -> Bool {
        if Self.isSame("chunked", line, value) { isChunked = true }
        return isChunked || Self.isSame("identity", line, value)
    }

    private mutating func readConnection(_ line: Span<UInt8>, _ value: Range<Int>) {
        var start = value.lowerBound
        while start < value.upperBound {
            var end = start
            while end < value.upperBound, line[end] != UInt8(ascii: ",") { end += 1 }
            let option = Self.trimmed(start..<end, of: line)
            if Self.isSame("close", line, option) { closes = true }
            if Self.isSame("keep-alive", line, option) { keepsAlive = true }
            start = end + 1
        }
    }

    // MARK: Fields

    /// - Parameter name: in lower case.
    /// - Returns: where the value stands, when the line is of that field.
    private static func value(of name: StaticString, _ line: Span<UInt8>) -> Range<Int>? {
        let count = name.utf8CodeUnitCount
        guard line.count > count, line[count] == UInt8(ascii: ":"), isSame(name, line, 0..<count) else { return nil }
        return trimmed(count + 1..<line.count, of: line)
    }

    /// - Parameter text: in lower case, of letters and hyphens.
    private static func isSame(_ text: StaticString, _ line: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { text in
            for index in text.indices where unsafe text[index] != lowercased(line[range.lowerBound + index]) {
                return false
            }
            return true
        }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    private static func trimmed(_ range: Range<Int>, of line: Span<UInt8>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
        while start < end, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
        return start..<end
    }
}
