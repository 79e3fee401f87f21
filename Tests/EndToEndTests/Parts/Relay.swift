import Foundation

/// Passes bytes on to another port, so that a server can appear where there was none.
final class Relay: Sendable {
    private let stopped = Flag()

    init(from port: Int, to target: Int) throws {
        let listening = try SocketBox(Socket.listening(port: port))
        Thread { [stopped] in
            while !stopped.isRaised {
                guard let client = listening.socket.accept(within: .milliseconds(20)),
                    let server = try? Socket(port: target)
                else { continue }
                Self.pump(SocketBox(client), SocketBox(server))
                Self.pump(SocketBox(server), SocketBox(client))
            }
            listening.socket.shut()
        }.start()
    }

    func stop() { stopped.raise() }

    private static func pump(_ source: SocketBox, _ target: SocketBox) {
        let thread = Thread {
            while let bytes = try? source.socket.receive() {
                guard (try? target.socket.send(bytes)) != nil else { break }
            }
            target.socket.finishSending()
        }
        thread.stackSize = 1 << 18
        thread.start()
    }
}
