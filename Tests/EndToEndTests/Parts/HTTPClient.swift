/// Asks nginx on 127.0.0.1, one connection for each request; HTTP/1.0, so that the answer ends with the connection.
enum HTTPClient {
    static func ask(port: Int, _ ask: TestRequest) throws -> TestResponse {
        let socket = try Socket(port: port)
        // What is too large is answered before all of it has been sent.
        try? socket.send(bytes(of: ask))
        guard let reply = TestResponse(try socket.receiveToEnd()) else {
            throw MissingProgramError(description: "no whole answer to \(ask.method) \(ask.target)")
        }
        return reply
    }

    static func bytes(of ask: TestRequest) -> [UInt8] {
        var head = "\(ask.method) \(ask.target) HTTP/1.0\r\n"
        if ask.fields["Host"] == nil { head += "Host: localhost\r\n" }
        for (name, value) in ask.fields { head += "\(name): \(value)\r\n" }
        if !ask.body.isEmpty, ask.fields["Content-Length"] == nil { head += "Content-Length: \(ask.body.count)\r\n" }
        return Array((head + "\r\n").utf8) + ask.body
    }
}
