import Foundation
import Synchronization

/// An S3 that knows no key and holds every answer back until it is let go.
final class SlowUpstream: Sendable {
    let port: Int
    private let requests = Counter()
    private let released = Flag()
    private let stopped = Flag()

    init() throws {
        port = try Ports.free()
        let listening = try SocketBox(Socket.listening(port: port))
        Thread { [self] in
            while !stopped.isRaised {
                guard let connection = listening.socket.accept(within: .milliseconds(20)) else { continue }
                let box = SocketBox(connection)
                let thread = Thread { self.serve(box.socket) }
                thread.stackSize = 1 << 18
                thread.start()
            }
            listening.socket.shut()
        }.start()
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Requests that have arrived.
    var arrived: Int { requests.value }

    /// Lets every answer go, now and from now on.
    func release() { released.raise() }

    func stop() {
        released.raise()
        stopped.raise()
    }

    private func serve(_ connection: Socket) {
        var bytes: [UInt8] = []
        while !stopped.isRaised {
            guard let more = try? connection.receive() else { return }
            bytes += more
            while let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
                bytes.removeSubrange(..<end.upperBound)
                requests.next()
                while !released.isRaised { usleep(1000) }
                guard (try? connection.send(Self.noSuchKey)) != nil else { return }
            }
        }
    }

    private static let noSuchKey: String = {
        let body =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>"
        return
            "HTTP/1.1 404 Not Found\r\nContent-Type: application/xml\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }()
}

/// Hands a socket to the thread that has it from then on.
struct SocketBox: @unchecked Sendable {
    // One thread at a time has it.
    let socket: Socket
    init(_ socket: Socket) { self.socket = socket }
}
