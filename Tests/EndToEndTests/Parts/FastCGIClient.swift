/// Speaks FastCGI to a worker, as nginx does, or as nginx never would.
///
/// Source: FastCGI Specification 1.0.
final class FastCGIClient {
    let socket: Socket
    private var buffer: [UInt8] = []

    init(path: String) throws { socket = try Socket(path: path) }

    init(port: Int) throws { socket = try Socket(port: port) }

    /// One request on a connection of its own.
    static func ask(path: String, _ ask: TestRequest) throws -> TestResponse { try FastCGIClient(path: path).ask(ask) }

    func ask(_ ask: TestRequest) throws -> TestResponse {
        try socket.send(Self.request(ask))
        return try answer()
    }

    // MARK: Records out

    static func record(_ kind: UInt8, _ id: Int, _ content: [UInt8], padding: Int = 0) -> [UInt8] {
        [
            1, kind, UInt8(id >> 8 & 0xFF), UInt8(id & 0xFF), UInt8(content.count >> 8), UInt8(content.count & 0xFF),
            UInt8(padding), 0,
        ] + content + [UInt8](repeating: 0, count: padding)
    }

    static func pair(_ name: String, _ value: String) -> [UInt8] {
        length(name.utf8.count) + length(value.utf8.count) + name.utf8 + value.utf8
    }

    private static func length(_ count: Int) -> [UInt8] {
        count < 128
            ? [UInt8(count)]
            : [UInt8(count >> 24 | 0x80), UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
    }

    static func begin(_ id: Int = 1, keepsConnection: Bool = true) -> [UInt8] {
        record(1, id, [0, 1, keepsConnection ? 1 : 0, 0, 0, 0, 0, 0])
    }

    static func parameters(_ ask: TestRequest) -> [UInt8] {
        var variables = [
            ("REQUEST_METHOD", ask.method), ("REQUEST_URI", ask.target), ("REMOTE_ADDR", "127.0.0.1"),
        ]
        if ask.fields["Content-Length"] == nil {
            variables.append(("CONTENT_LENGTH", ask.body.isEmpty ? "" : String(ask.body.count)))
        }
        for (name, value) in ask.fields {
            let upper = name.uppercased().replacing("-", with: "_")
            variables.append((upper.hasPrefix("CONTENT_") ? upper : "HTTP_\(upper)", value))
        }
        return variables.flatMap(pair)
    }

    static func request(_ ask: TestRequest, id: Int = 1, keepsConnection: Bool = true) -> [UInt8] {
        var bytes = begin(id, keepsConnection: keepsConnection)
        bytes += record(4, id, parameters(ask)) + record(4, id, [])
        var rest = ask.body[...]
        while !rest.isEmpty {
            bytes += record(5, id, Array(rest.prefix(32_768)))
            rest = rest.dropFirst(32_768)
        }
        return bytes + record(5, id, [])
    }

    // MARK: Records in

    struct Record: Equatable {
        let kind: UInt8
        let id: Int
        let content: [UInt8]
    }

    /// - Returns: the next record; `nil` when the worker has closed the connection.
    func record() throws -> Record? {
        while true {
            if buffer.count >= 8 {
                let length = Int(buffer[4]) << 8 | Int(buffer[5])
                let end = 8 + length + Int(buffer[6])
                if buffer.count >= end {
                    defer { buffer.removeFirst(end) }
                    return Record(
                        kind: buffer[1], id: Int(buffer[2]) << 8 | Int(buffer[3]),
                        content: Array(buffer[8..<8 + length]))
                }
            }
            guard let more = try socket.receive() else { return nil }
            buffer += more
        }
    }

    func answer(id: Int = 1) throws -> TestResponse {
        var output: [UInt8] = []
        while let record = try record() {
            guard record.id == id else { continue }
            if record.kind == 6 { output += record.content }
            guard record.kind == 3 else { continue }
            guard let reply = TestResponse(output) else { break }
            return reply
        }
        throw MissingProgramError(description: "the worker closed the connection without an answer")
    }
}
