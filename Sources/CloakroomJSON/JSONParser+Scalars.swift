extension JSONParser {
    /// A string; `index` stands on its opening quotation mark.
    mutating func string() throws(JSONError) -> String {
        index += 1
        let start = index
        var isASCII = true
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                let content = bytes[start..<index]
                index += 1
                return try Self.decoded(content, isASCII: isASCII)
            case UInt8(ascii: "\\"):
                return try escapedString(from: start)
            case 0..<0x20:
                throw malformed
            case 0x80...:
                isASCII = false
                index += 1
            default:
                index += 1
            }
        }
        throw malformed
    }

    private mutating func escapedString(from start: Int) throws(JSONError) -> String {
        var content = Array(bytes[start..<index])
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return try Self.decoded(content[...], isASCII: false)
            case UInt8(ascii: "\\"): try escape(into: &content)
            case 0..<0x20: throw malformed
            default: content.append(byte)
            }
        }
        throw malformed
    }

    mutating func escape(into content: inout [UInt8]) throws(JSONError) {
        let character = next
        index += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(character)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0C)
        case UInt8(ascii: "n"): content.append(0x0A)
        case UInt8(ascii: "r"): content.append(0x0D)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "u"): content.append(contentsOf: String(try escapedScalar()).utf8)
        default: throw malformed
        }
    }

    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        let first = try codeUnit()
        guard UTF16.isLeadSurrogate(first) else { return try Self.scalar(UInt32(first)) }
        guard next == UInt8(ascii: "\\") else { throw .notUnicode }
        index += 1
        guard next == UInt8(ascii: "u") else { throw .notUnicode }
        index += 1
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second) else { throw .notUnicode }
        return try Self.scalar(0x10000 + (UInt32(first) & 0x3FF) << 10 + UInt32(second) & 0x3FF)
    }

    static func scalar(_ value: UInt32) throws(JSONError) -> Unicode.Scalar {
        guard let scalar = Unicode.Scalar(value) else { throw .notUnicode }
        return scalar
    }

    private mutating func codeUnit() throws(JSONError) -> UInt16 {
        guard index + 4 <= bytes.count else { throw malformed }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Self.hexadecimal(bytes[index]) else { throw malformed }
            unit = unit << 4 | digit
            index += 1
        }
        return unit
    }

    static func hexadecimal(_ byte: UInt8) -> UInt16? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    static func decoded(_ content: ArraySlice<UInt8>, isASCII: Bool) throws(JSONError) -> String {
        let string = String(decoding: content, as: UTF8.self)
        // Decoding repairs what is not UTF-8, so a text that changed was none.
        guard isASCII || string.utf8.elementsEqual(content) else { throw .notUnicode }
        return string
    }

    mutating func number() throws(JSONError) -> Double {
        let start = index
        if next == UInt8(ascii: "-") { index += 1 }
        if next == UInt8(ascii: "0") { index += 1 } else { try digits() }
        var isInteger = true
        if next == UInt8(ascii: ".") {
            isInteger = false
            index += 1
            try digits()
        }
        if next | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            index += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        if isInteger, let value = Int(text) { return Double(value) }
        guard let value = Double(text), value.isFinite else { throw .outOfRange }
        return value
    }

    private mutating func digits() throws(JSONError) {
        let start = index
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { index += 1 }
        guard index > start else { throw malformed }
    }
}
