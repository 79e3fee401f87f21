extension JSON5Parser {
    /// A string in either kind of quotes; the index stands on the first.
    mutating func string() throws(JSONError) -> String {
        let start = text.index
        let quote = text.next
        text.index += 1
        var content: [UInt8] = []
        while text.index < text.bytes.count {
            let byte = text.bytes[text.index]
            switch byte {
            case quote:
                text.index += 1
                return try JSONParser.decoded(content[...], isASCII: false)
            case 0x0A, 0x0D:
                throw text.malformed
            case UInt8(ascii: "\\"):
                text.index += 1
                try escape(into: &content)
            default:
                text.index += 1
                content.append(byte)
            }
        }
        throw .malformed(at: start)
    }

    private mutating func escape(into content: inout [UInt8]) throws(JSONError) {
        switch text.next {
        case UInt8(ascii: "'"):
            text.index += 1
            content.append(UInt8(ascii: "'"))
        case UInt8(ascii: "v"):
            text.index += 1
            content.append(0x0B)
        case UInt8(ascii: "x"):
            text.index += 1
            guard let high = JSONParser.hexadecimal(text.next) else { throw text.malformed }
            text.index += 1
            guard let low = JSONParser.hexadecimal(text.next) else { throw text.malformed }
            text.index += 1
            content.append(contentsOf: String(try JSONParser.scalar(UInt32(high << 4 | low))).utf8)
        case 0x0D:
            text.index += text.bytes[text.index...].starts(with: [0x0D, 0x0A]) ? 2 : 1
        case 0x0A:
            text.index += 1
        default:
            // JSON's own; what JSON5 takes beyond, such as \q for q, is more likely a slip than meant.
            try text.escape(into: &content)
        }
    }

    mutating func number() throws(JSONError) -> Double {
        let start = text.index
        var sign = 1.0
        if text.next == UInt8(ascii: "+") || text.next == UInt8(ascii: "-") {
            sign = text.next == UInt8(ascii: "-") ? -1 : 1
            text.index += 1
        }
        let digits = text.index
        while true {
            switch text.next {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."):
                text.index += 1
            case UInt8(ascii: "+"), UInt8(ascii: "-"):
                guard text.index > digits, text.bytes[text.index - 1] | 0x20 == UInt8(ascii: "e") else {
                    throw .malformed(at: start)
                }
                text.index += 1
            default:
                let word = String(decoding: text.bytes[digits..<text.index], as: UTF8.self)
                guard let magnitude = Self.magnitude(word) else { throw .malformed(at: start) }
                guard magnitude.isFinite else { throw .outOfRange }
                return sign * magnitude
            }
        }
    }

    private static func magnitude(_ word: String) -> Double? {
        if word.hasPrefix("0x") || word.hasPrefix("0X") {
            return UInt64(word.dropFirst(2), radix: 16).map { Double($0) }
        }
        // Swift's own reader wants a digit before the point.
        return isDecimal(word) ? Double(word.first == "." ? "0" + word : word) : nil
    }

    /// Digits on one side of the point at least, and no zero before others.
    private static func isDecimal(_ word: String) -> Bool {
        var rest = word.utf8[...]
        func digits() -> Int {
            let count = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
            rest = rest.dropFirst(count)
            return count
        }
        let whole = digits()
        guard whole <= 1 || word.first != "0" else { return false }
        var fraction = 0
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            fraction = digits()
        }
        guard whole > 0 || fraction > 0 else { return false }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard digits() > 0 else { return false }
        }
        return rest.isEmpty
    }
}
