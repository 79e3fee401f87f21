/// A FastCGI request as a web server writes it (FastCGI Specification 1.0).
package struct FastCGIRequest: Sendable {
    package var id: UInt16 = 1
    package var role: UInt16 = 1
    package var keepsConnection = true
    package var parameters: [(name: String, value: String)]
    package var body: [UInt8]
    /// The largest content of one record.
    package var recordBytes = 65_535
    package var padding: UInt8 = 0

    package init(_ parameters: [(name: String, value: String)], body: [UInt8] = []) {
        self.parameters = parameters
        self.body = body
    }

    package init(method: String = "GET", target: String, body: [UInt8] = []) {
        self.init([("REQUEST_METHOD", method), ("REQUEST_URI", target)], body: body)
    }

    package var bytes: [UInt8] {
        begin + stream(4, pairs) + stream(5, body)
    }

    package var begin: [UInt8] {
        record(1, [UInt8(role >> 8), UInt8(role & 0xFF), keepsConnection ? 1 : 0, 0, 0, 0, 0, 0])
    }

    package var pairs: [UInt8] {
        parameters.flatMap { name, value in
            Self.length(name.utf8.count) + Self.length(value.utf8.count) + name.utf8 + value.utf8
        }
    }

    package func record(_ kind: UInt8, _ content: [UInt8]) -> [UInt8] {
        [1, kind, UInt8(id >> 8), UInt8(id & 0xFF), UInt8(content.count >> 8), UInt8(content.count & 0xFF), padding, 0]
            + content + [UInt8](repeating: 0xEE, count: Int(padding))
    }

    private func stream(_ kind: UInt8, _ content: [UInt8]) -> [UInt8] {
        stride(from: 0, to: content.count, by: recordBytes).flatMap { start in
            record(kind, Array(content[start..<min(content.count, start + recordBytes)]))
        } + record(kind, [])
    }

    private static func length(_ count: Int) -> [UInt8] {
        guard count > 127 else { return [UInt8(count)] }
        return [UInt8(count >> 24) | 0x80, UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
    }
}

/// One answer, put together from its records.
package struct FastCGIResponse: Sendable, Equatable {
    package var id: UInt16
    package var output: [UInt8]

    package init(id: UInt16, output: [UInt8]) {
        self.id = id
        self.output = output
    }

    package var head: String { String(decoding: output[..<bodyStart].dropLast(4), as: UTF8.self) }
    package var body: [UInt8] { Array(output[bodyStart...]) }
    package var text: String { String(decoding: output, as: UTF8.self) }

    private var bodyStart: Int { output.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? output.count }
}

/// Takes records apart that a worker wrote.
package struct FastCGIResponseReader {
    package enum RecordError: Error { case unexpected(kind: UInt8, id: UInt16) }

    private var bytes: [UInt8] = []
    private var open: FastCGIResponse?
    package private(set) var answers: [FastCGIResponse] = []

    package init() {}

    /// Whether nothing is left of an answer or a record that is not whole.
    package var isBetweenAnswers: Bool { bytes.isEmpty && open == nil }

    package mutating func feed(_ more: [UInt8]) throws {
        bytes += more
        var start = 0
        while bytes.count - start >= 8 {
            let length = Int(bytes[start + 4]) << 8 | Int(bytes[start + 5])
            let end = start + 8 + length + Int(bytes[start + 6])
            guard bytes.count >= end else { break }
            try take(
                kind: bytes[start + 1], id: UInt16(bytes[start + 2]) << 8 | UInt16(bytes[start + 3]),
                bytes[start + 8..<start + 8 + length])
            start = end
        }
        bytes.removeFirst(start)
    }

    private mutating func take(kind: UInt8, id: UInt16, _ content: ArraySlice<UInt8>) throws {
        switch kind {
        case 6 where open == nil: open = FastCGIResponse(id: id, output: Array(content))
        case 6 where open?.id == id: open?.output += content
        case 3 where open?.id == id:
            if let answer = open { answers.append(answer) }
            open = nil
        default: throw RecordError.unexpected(kind: kind, id: id)
        }
    }
}
