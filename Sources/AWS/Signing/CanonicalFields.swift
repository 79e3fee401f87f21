import HTTPValues

/// The signed header fields: names lower-case and sorted, values trimmed, repeated ones joined.
struct CanonicalFields {
    /// `name:value\n` each.
    let lines: [UInt8]
    /// `name;name`.
    let names: [UInt8]

    /// Fields that proxies or the transport itself may change on the way.
    private static func isUnsigned(_ name: String) -> Bool {
        // Few have such a length, so few are compared.
        switch name.utf8.count {
        case 2: name == "te"
        case 6: name == "expect"
        case 7: name == "upgrade"
        case 10: name == "connection" || name == "user-agent"
        case 13: name == "authorization"
        case 15: name == "x-amzn-trace-id"
        case 17: name == "transfer-encoding"
        default: false
        }
    }

    init(_ fields: HeaderFields) {
        var entries: [(name: String, value: String)] = []
        entries.reserveCapacity(fields.count)
        for field in fields {
            let name = Self.lowercased(field.name)
            if !Self.isUnsigned(name) { entries.append((name, field.value)) }
        }
        Self.sort(&entries)
        var lines: [UInt8] = []
        var names: [UInt8] = []
        lines.reserveCapacity(512)
        names.reserveCapacity(256)
        for index in entries.indices {
            if index > 0, Self.same(entries[index - 1].name, entries[index].name) {
                lines[lines.count - 1] = UInt8(ascii: ",")
            } else {
                if index > 0 { names.append(UInt8(ascii: ";")) }
                names.append(entries[index].name)
                lines.append(entries[index].name)
                lines.append(UInt8(ascii: ":"))
            }
            append(value: entries[index].value, to: &lines)
            lines.append(newline)
        }
        self.lines = lines
        self.names = names
    }

    private static func lowercased(_ name: String) -> String {
        var name = name
        let hasUppercase = name.withUTF8 { bytes in
            var found: UInt8 = 0
            for index in bytes.indices { found |= isUppercase(bytes[index]) ? 1 : 0 }
            return found != 0
        }
        return hasUppercase ? name.lowercased() : name
    }

    /// Unlike lengths need no comparison.
    private static func same(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count && left == right
    }

    /// Few and almost sorted; equal names keep their order.
    private static func sort(_ entries: inout [(name: String, value: String)]) {
        for index in entries.indices.dropFirst() {
            var place = index
            while place > 0, entries[place].name < entries[place - 1].name {
                entries.swapAt(place, place - 1)
                place -= 1
            }
        }
    }
}

/// Trimmed; spaces in a row become one.
private func append(value: String, to lines: inout [UInt8]) {
    var text = value
    text.withUTF8 { bytes in
        // Most values have none, and the longest of all, the session token, never has. No branch, so vectors.
        var lowest = UInt8.max
        for byte in bytes { lowest = min(lowest, byte) }
        if lowest > UInt8(ascii: " ") { return lines.append(contentsOf: bytes) }
        var wasBlank = true
        var isPlain = true
        for byte in bytes {
            let isBlank = isBlank(byte)
            if isBlank && (wasBlank || byte != UInt8(ascii: " ")) { isPlain = false }
            wasBlank = isBlank
        }
        if isPlain && !wasBlank { return lines.append(contentsOf: bytes) }
        for (number, word) in bytes.split(whereSeparator: isBlank).enumerated() {
            if number > 0 { lines.append(UInt8(ascii: " ")) }
            lines.append(contentsOf: word)
        }
    }
}

private func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r") || byte == newline
}
