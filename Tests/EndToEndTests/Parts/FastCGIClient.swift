import CloakroomTestSupport

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

    static func record(_ kind: UInt8, _ id: UInt16, _ content: [UInt8], padding: UInt8 = 0) -> [UInt8] {
        var request = FastCGIRequest([])
        request.id = id
        request.padding = padding
        return request.record(kind, content)
    }

    static func pair(_ name: String, _ value: String) -> [UInt8] { FastCGIRequest([(name, value)]).pairs }

    static func begin() -> [UInt8] { FastCGIRequest([]).begin }

    static func parameters(_ ask: TestRequest) -> [UInt8] { message(ask).pairs }

    static func request(_ ask: TestRequest, id: UInt16 = 1, keepsConnection: Bool = true) -> [UInt8] {
        var message = message(ask)
        message.id = id
        message.keepsConnection = keepsConnection
        return message.bytes
    }

    /// As nginx writes it.
    private static func message(_ ask: TestRequest) -> FastCGIRequest {
        var variables = [
            ("REQUEST_METHOD", ask.method), ("REQUEST_URI", ask.target), ("REMOTE_ADDR", "127.0.0.1"),
            ("LOCAL_NETWORK", "1"),
        ]
        if ask.fields["Content-Length"] == nil {
            variables.append(("CONTENT_LENGTH", ask.body.isEmpty ? "" : String(ask.body.count)))
        }
        for (name, value) in ask.fields {
            let upper = name.uppercased().replacing("-", with: "_")
            variables.append((upper.hasPrefix("CONTENT_") ? upper : "HTTP_\(upper)", value))
        }
        var message = FastCGIRequest(variables, body: ask.body)
        message.recordBytes = 32_768
        return message
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
