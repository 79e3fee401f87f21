import CloakroomHTTP

/// Changes a valid response as a hostile server might: numbers, dates, names, nesting, lengths.
struct Mutation: Sendable {
    private var generator: any RandomNumberGenerator & Sendable

    init(_ generator: some RandomNumberGenerator & Sendable) { self.generator = generator }

    mutating func number(below limit: Int) -> Int { Int.random(in: 0..<max(1, limit), using: &generator) }

    mutating func pick<Element>(_ all: [Element]) -> Element { all[number(below: all.count)] }

    private static let numbers = [
        "0", "1", "-1", "10000", "10001", "4294967296", "2147483647", "2147483648", "53687091200000", "53687091200001",
        "9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "18446744073709551615", "1e308", "+5", " 7", "00000000000000000009", "NaN", "", "٣",
    ]

    private static let dates = [
        "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999999Z", "0000-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
        "2026-02-30T00:00:00Z", "2026-11-20T25:00:00Z", "10000-01-01T00:00:00Z", "2026-11-20T15:00:00+99:99",
        "Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 0000 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
        "Mon, 30 Feb 2026 00:00:00 GMT", "Xyz, 99 Abc 9999 99:99:99 GMT", "2026", "",
    ]

    private static let words = [
        "NoSuchKey", "InternalError", "SlowDown", "ExpiredToken", "RequestTimeTooSkewed", "AccessDenied",
        "PreconditionFailed", "InvalidRequest", "NoSuchUpload", "true", "false", "Enabled", "url", "%", "%zz", "&#0;",
        "&#x110000;", "&lol;", "]]>", "<![CDATA[", "<!DOCTYPE a [<!ENTITY b \"c\">]>", "\u{0}", "\u{1B}[2J", "\r\n",
        "é", "\u{FFFD}", "<a>", "</a>", "<a/>", "\"", "STANDARD", "DEEP_ARCHIVE",
    ]

    private static let bytes: [UInt8] = [0, 1, 0x0A, 0x0D, 0x20, 0x3C, 0x3E, 0x26, 0x22, 0x7F, 0x80, 0xC3, 0xFF]

    /// One to four changes.
    mutating func changed(_ whole: [UInt8]) -> [UInt8] {
        var bytes = whole
        for _ in 0...number(below: 4) { change(&bytes) }
        return bytes
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        switch number(below: 12) {
        case 0, 1, 2: replaceRun(in: &bytes, with: Self.numbers) { (0x30...0x39).contains($0) }
        case 3:
            replaceRun(in: &bytes, with: Self.dates) { (0x30...0x3A).contains($0) || "-TZ.".utf8.contains($0) }
        case 4: replaceRun(in: &bytes, with: Self.words) { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A }
        case 5: doubleElement(in: &bytes)
        case 6: nest(&bytes)
        case 7:
            guard !bytes.isEmpty else { return }
            bytes.removeLast(number(below: bytes.count))
        case 8:
            let start = number(below: bytes.count + 1)
            bytes.insert(contentsOf: pick(Self.words + Self.numbers + Self.dates).utf8, at: start)
        case 9: bytes.insert(pick(Self.bytes), at: number(below: bytes.count + 1))
        case 10:
            guard !bytes.isEmpty else { return }
            bytes[number(below: bytes.count)] = pick(Self.bytes)
        default:
            let (start, end) = span(bytes.count, atMost: 60)
            bytes.removeSubrange(start..<end)
        }
    }

    private mutating func span(_ count: Int, atMost length: Int) -> (Int, Int) {
        let start = number(below: count)
        return (min(start, count), min(count, start + number(below: length)))
    }

    /// One run of such bytes becomes something else.
    private mutating func replaceRun(in bytes: inout [UInt8], with texts: [String], where isPart: (UInt8) -> Bool) {
        let start = number(below: bytes.count)
        guard start < bytes.count, let first = bytes[start...].firstIndex(where: isPart) else { return }
        var begin = first
        while begin > 0, isPart(bytes[begin - 1]) { begin -= 1 }
        let end = bytes[first...].firstIndex { !isPart($0) } ?? bytes.count
        bytes.replaceSubrange(begin..<end, with: pick(texts).utf8)
    }

    /// What stands between two `<`, up to a few hundred times.
    private mutating func doubleElement(in bytes: inout [UInt8]) {
        let (start, end) = span(bytes.count, atMost: 200)
        let piece = Array(bytes[start..<end])
        let times = number(below: 20) == 0 ? 200 : 2
        bytes.insert(contentsOf: Array(repeatElement(piece, count: times).joined()), at: start)
    }

    /// XML in XML, or JSON or an array in arrays.
    private mutating func nest(_ bytes: inout [UInt8]) {
        let depth = number(below: 20) == 0 ? 5000 : 1 + number(below: 80)
        if bytes.first == UInt8(ascii: "<") {
            let place = number(below: bytes.count)
            let at = bytes[place...].firstIndex(of: UInt8(ascii: "<")) ?? 0
            let open = Array(repeatElement(Array("<a>".utf8), count: depth).joined())
            let close = Array(repeatElement(Array("</a>".utf8), count: depth).joined())
            bytes.insert(contentsOf: number(below: 2) == 0 ? open + close : open, at: at)
        } else if bytes.first == UInt8(ascii: "{") {
            let place = number(below: bytes.count)
            let at = bytes[place...].firstIndex { "\"[{".utf8.contains($0) } ?? 0
            bytes.insert(contentsOf: repeatElement(UInt8(ascii: "["), count: depth), at: at)
        } else {
            bytes.insert(contentsOf: Array(repeatElement(Array("*1\r\n".utf8), count: depth).joined()), at: 0)
        }
    }

    /// Status, fields or body.
    mutating func changed(_ response: UpstreamResponse) -> UpstreamResponse {
        var response = response
        if response.body.isEmpty || number(below: 2) == 0 { response.fields = changed(response.fields) }
        if !response.body.isEmpty, number(below: 3) > 0 { response.body = changed(response.body) }
        if number(below: 8) == 0 {
            response.status = pick([0, 100, 200, 204, 206, 301, 400, 403, 404, 409, 412, 416, 500, 503, 999])
        }
        return response
    }

    /// A field's value or name becomes another, a field goes, or comes twice.
    mutating func changed(_ fields: HeaderFields) -> HeaderFields {
        var changed = HeaderFields()
        let place = number(below: fields.count)
        for (index, field) in fields.enumerated() {
            guard index == place else {
                changed.add(field.name, field.value)
                continue
            }
            switch number(below: 8) {
            case 0: continue
            case 1: for _ in 0...number(below: 300) { changed.add(field.name, field.value) }
            case 2: changed.add(pick(Self.words), field.value)
            case 3: changed.add(field.name, pick(Self.dates))
            case 4: changed.add(field.name, pick(Self.words))
            case 5: changed.add(field.name, self.changed(Array(field.value.utf8)))
            default: changed.add(field.name, pick(Self.numbers))
            }
        }
        return changed
    }
}
