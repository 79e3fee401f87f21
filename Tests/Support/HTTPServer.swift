import Foundation
import Synchronization

/// An HTTP/1.1 server that does as a script says: well, badly, slowly or not at all.
package final class HTTPServer: Sendable {
    package struct Received: Sendable, Equatable {
        package struct Field: Sendable, Equatable {
            /// In lower case.
            package let name: String
            package let value: String
        }

        /// From 0, over all connections.
        package let number: Int
        /// From 0.
        package let connection: Int
        package let method: String
        package let target: String
        package let fields: [Field]
        package let body: [UInt8]

        package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
    }

    package enum Step: Sendable {
        case send([UInt8])
        /// So many zeros, as far as the peer takes them.
        case zeros(Int)
        case wait(Latch)
        case open(Latch)
        case end
        case reset
    }

    private final class Log: Sendable {
        let requests = Mutex<[Received]>([])
    }

    private let server: SocketServer
    private let log = Log()

    /// - Parameter script: what to do about a request; the connection is kept unless a step ends it.
    package init(script: @escaping @Sendable (Received) -> [Step]) throws {
        let log = log
        server = try SocketServer { peer, connection in
            var bytes: [UInt8] = []
            while let request = Self.request(from: peer, connection, &bytes, log) {
                for step in script(request) {
                    guard Self.take(step, on: peer) else { return }
                }
            }
        }
    }

    deinit { server.stop() }

    package var url: String { "http://127.0.0.1:\(server.port)" }
    package var connections: Int { server.accepted }
    package var requests: [Received] { log.requests.withLock { $0 } }

    /// Listens no more, and ends every connection.
    package func stop() { server.stop() }

    /// - Returns: whether the connection goes on.
    private static func take(_ step: Step, on peer: Peer) -> Bool {
        do {
            switch step {
            case .send(let bytes): try peer.write(bytes)
            case .zeros(var count):
                while count > 0 {
                    try peer.write([UInt8](repeating: 0, count: min(count, 1 << 16)))
                    count -= 1 << 16
                }
            case .wait(let latch): return latch.wait()
            case .open(let latch): latch.open()
            case .end: return false
            case .reset:
                peer.reset()
                return false
            }
            return true
        } catch {
            return false
        }
    }

    private static func request(
        from peer: Peer, _ connection: Int, _ bytes: inout [UInt8], _ log: Log
    ) -> Received? {
        let end = Array("\r\n\r\n".utf8)
        var head = bytes.firstRange(of: end)
        while head == nil {
            guard let more = try? peer.read(), !more.isEmpty else { return nil }
            bytes += more
            head = bytes.firstRange(of: end)
        }
        guard let head else { return nil }
        let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return Received.Field(
                name: parts[0].lowercased(), value: parts.dropFirst().joined().trimmingCharacters(in: .whitespaces))
        }
        let length = fields.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
        while bytes.count < head.upperBound + length {
            guard let more = try? peer.read(), !more.isEmpty else { return nil }
            bytes += more
        }
        let body = Array(bytes[head.upperBound..<head.upperBound + length])
        bytes.removeFirst(head.upperBound + length)
        return log.requests.withLock { requests in
            let request = Received(
                number: requests.count, connection: connection, method: String(words[0]),
                target: words.count > 1 ? String(words[1]) : "", fields: fields, body: body)
            requests.append(request)
            return request
        }
    }
}

extension HTTPServer.Step {
    /// A whole answer with its length.
    package static func answer(_ status: Int, _ body: String = "", fields: [(String, String)] = []) -> Self {
        .send(Array((head(status, fields + [("Content-Length", "\(body.utf8.count)")]) + body).utf8))
    }

    /// A whole answer without one.
    package static func chunked(_ status: Int, _ chunks: [String]) -> Self {
        let body = chunks.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined() + "0\r\n\r\n"
        return .send(Array((head(status, [("Transfer-Encoding", "chunked")]) + body).utf8))
    }

    package static func text(_ text: String) -> Self { .send(Array(text.utf8)) }

    package static func head(_ status: Int, _ fields: [(String, String)]) -> String {
        "HTTP/1.1 \(status) X\r\n" + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
    }
}
