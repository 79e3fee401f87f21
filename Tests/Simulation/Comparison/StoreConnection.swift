import CloakroomCLinux
import CloakroomLoop
import Glibc

@testable import CloakroomAWS

/// One connection to a real S3 server, by which requests go one after the other; the process waits for each response.
///
/// The project's own clients wait by the loop, whose time is the simulation's.
final class StoreConnection {
    private let host: String
    private let port: UInt16
    private var socket: Int32 = -1
    private var input: [UInt8] = []
    /// A byte that was read is not moved when those before it are taken.
    private var position = 0

    init(_ host: String, _ port: UInt16) {
        self.host = host
        self.port = port
    }

    func exchange(_ message: SigV4.Message, _ body: [UInt8]) -> StoreResponse {
        let target = message.path + (message.query.isEmpty ? "" : "?\(message.query)")
        var head = "\(message.method) \(target) HTTP/1.1\r\n"
        for field in message.fields { head += "\(field.name): \(field.value)\r\n" }
        let bytes = Array((head + "\r\n").utf8) + body
        // A server may have closed a connection that was idle.
        for _ in 0..<3 {
            if socket < 0 { connect() }
            if write(bytes), let response = response(hasBody: message.method != "HEAD") { return response }
            end()
        }
        ComparisonOptions.fail("\(host):\(port) does not respond to \(message.method) \(target)")
    }

    private func connect() {
        var error: Int32 = 0
        socket = cloakroom_connect_internet(host, port, &error)
        guard socket >= 0 else { ComparisonOptions.fail("no connection to \(host):\(port)") }
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK)
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    private func end() {
        close(socket)
        socket = -1
        input = []
        position = 0
    }

    private func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(socket, $0.baseAddress! + sent, $0.count - sent) }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    // MARK: Responses

    private func response(hasBody: Bool) -> StoreResponse? {
        var status = 0
        var fields: [String: String] = [:]
        repeat {
            guard let line = line(), let number = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
            else { return nil }
            status = number
            while let line = self.line(), !line.isEmpty {
                let parts = line.split(separator: ":", maxSplits: 1)
                fields[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
            }
        } while status == 100
        guard let body = hasBody && status != 204 && status != 304 ? body(fields) : [] else { return nil }
        if fields["connection"]?.lowercased() == "close" { end() }
        return StoreResponse(status: status, fields: fields, body: body)
    }

    private func body(_ fields: [String: String]) -> [UInt8]? {
        guard fields["transfer-encoding"] == "chunked" else {
            return bytes(fields["content-length"].flatMap { Int($0) } ?? 0)
        }
        var body: [UInt8] = []
        while true {
            guard let line = line(), let count = Int(line.prefix { $0 != ";" }, radix: 16), let chunk = bytes(count),
                self.line() != nil
            else { return nil }
            if count == 0 { return body }
            body += chunk
        }
    }

    private func line() -> String? {
        while true {
            if let end = input[position...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { position = end + 1 }
                return String(decoding: input[position..<max(position, end - 1)], as: UTF8.self)
            }
            guard readMore() else { return nil }
        }
    }

    private func bytes(_ count: Int) -> [UInt8]? {
        while input.count - position < count { guard readMore() else { return nil } }
        defer { position += count }
        return Array(input[position..<(position + count)])
    }

    private func readMore() -> Bool {
        if position > 0 {
            input.removeFirst(position)
            position = 0
        }
        // The server may wait for it with the rest of its response.
        var isOn: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_QUICKACK, &isOn, 4)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = buffer.withUnsafeMutableBytes { Glibc.read(socket, $0.baseAddress, $0.count) }
        guard count > 0 else { return false }
        input += buffer[..<count]
        return true
    }
}
