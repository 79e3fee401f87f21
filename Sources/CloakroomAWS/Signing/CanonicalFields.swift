import CloakroomHTTP

/// The signed header fields: names lower-case and sorted, values trimmed, repeated ones joined.
struct CanonicalFields {
    /// `name:value\n` each.
    let lines: [UInt8]
    /// `name;name`.
    let names: [UInt8]

    /// - Parameter absent: names without a line.
    init(_ fields: HeaderFields, absent: [String] = []) {
        let fields = Self.withoutCapitals(fields)
        let text = fields.text
        let locations = Self.sorted(fields.locations, text)
        var lines: [UInt8] = []
        var names: [UInt8] = []
        lines.reserveCapacity(text.count)
        names.reserveCapacity(256)
        var last: HeaderFields.Location?
        for location in locations where !Self.isUnsigned(text[location.name]) {
            if let last, text[last.name] == text[location.name] {
                lines[lines.count - 1] = UInt8(ascii: ",")
            } else {
                if last != nil { names.append(UInt8(ascii: ";")) }
                names.append(contentsOf: text[location.name])
                lines.append(contentsOf: text[location.name])
                lines.append(UInt8(ascii: ":"))
            }
            append(value: text[location.value], to: &lines)
            lines.append(newline)
            last = location
        }
        self.lines = lines
        self.names = absent.isEmpty ? names : Self.joined(names, absent)
    }

    private static func joined(_ names: [UInt8], _ absent: [String]) -> [UInt8] {
        let sent = String(decoding: names, as: UTF8.self).split(separator: ";").map(String.init)
        return Array(Set(sent + absent).sorted().joined(separator: ";").utf8)
    }

    /// Fields that proxies or the transport itself may change on the way.
    private static func isUnsigned(_ name: ArraySlice<UInt8>) -> Bool {
        // Few have such a length, so few are compared.
        switch name.count {
        case 2: name.elementsEqual("te".utf8)
        case 6: name.elementsEqual("expect".utf8)
        case 7: name.elementsEqual("upgrade".utf8)
        case 10: name.elementsEqual("connection".utf8) || name.elementsEqual("user-agent".utf8)
        case 13: name.elementsEqual("authorization".utf8)
        case 15: name.elementsEqual("x-amzn-trace-id".utf8)
        case 17: name.elementsEqual("transfer-encoding".utf8)
        default: false
        }
    }

    /// The same fields with names in lower case; ours are already.
    private static func withoutCapitals(_ fields: HeaderFields) -> HeaderFields {
        let all = fields.text[...]
        let text = all.span
        var found = false
        for location in fields.locations {
            let name = text.extracting(location.name)
            for index in name.indices { found = isUppercase(name[index]) || found }
        }
        guard found else { return fields }
        return HeaderFields(fields.map { .init(name: $0.name.lowercased(), value: $0.value) })
    }

    /// Few and almost sorted; equal names keep their order.
    private static func sorted(_ locations: [HeaderFields.Location], _ text: [UInt8]) -> [HeaderFields.Location] {
        let all = text[...]
        let text = all.span
        var locations = locations
        for index in locations.indices.dropFirst() {
            var location = index
            while location > 0, precedes(locations[location].name, locations[location - 1].name, text) {
                locations.swapAt(location, location - 1)
                location -= 1
            }
        }
        return locations
    }

    private static func precedes(_ left: Range<Int>, _ right: Range<Int>, _ text: Span<UInt8>) -> Bool {
        let (left, right) = (text.extracting(left), text.extracting(right))
        for index in 0..<min(left.count, right.count) where left[index] != right[index] {
            return left[index] < right[index]
        }
        return left.count < right.count
    }
}

/// Trimmed; spaces in a row become one.
private func append(value: ArraySlice<UInt8>, to lines: inout [UInt8]) {
    // Most values have none, and the longest of all, the session token, never has. No branch, so vectors.
    var lowest = UInt8.max
    for byte in value { lowest = min(lowest, byte) }
    if lowest > UInt8(ascii: " ") { return lines.append(contentsOf: value) }
    var wasBlank = true
    var isPlain = true
    for byte in value {
        let isBlank = isBlank(byte)
        if isBlank && (wasBlank || byte != UInt8(ascii: " ")) { isPlain = false }
        wasBlank = isBlank
    }
    if isPlain && !wasBlank { return lines.append(contentsOf: value) }
    for (number, word) in value.split(whereSeparator: isBlank).enumerated() {
        if number > 0 { lines.append(UInt8(ascii: " ")) }
        lines.append(contentsOf: word)
    }
}
