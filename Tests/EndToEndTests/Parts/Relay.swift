import Foundation

/// Passes bytes on to another port, so that a server can appear where there was none.
final class Relay: Sendable {
    private let stopped = Flag()

    /// - Parameter slow: what requests begin with that are held back for a third of a second.
    init(from port: Int, to target: Int, slow: String? = nil) throws {
        let listening = try SocketBox(Socket.listening(port: port))
        Thread { [stopped] in
            while !stopped.isRaised {
                guard let client = listening.socket.accept(within: .milliseconds(20)),
                    let server = try? Socket(port: target)
                else { continue }
                Self.pump(SocketBox(client), SocketBox(server), slow.map { Array($0.utf8) })
                Self.pump(SocketBox(server), SocketBox(client))
            }
            listening.socket.shut()
        }.start()
    }

    func stop() { stopped.raise() }

    private static func pump(_ source: SocketBox, _ target: SocketBox, _ slow: [UInt8]? = nil) {
        let thread = Thread {
            while let bytes = try? source.socket.receive() {
                if let slow, bytes.starts(with: slow) { usleep(333_000) }
                guard (try? target.socket.send(bytes)) != nil else { break }
            }
            target.socket.finishSending()
        }
        thread.stackSize = 1 << 18
        thread.start()
    }
}
