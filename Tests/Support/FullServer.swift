import Glibc

/// Listens on the loopback interface with no room for another connection: who connects waits.
package final class FullServer: Sendable {
    package let port: UInt16
    private let sockets: [Int32]

    package init() throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard SocketServer.withLoopback({ bind(listening, $0, $1) }) == 0, listen(listening, 0) == 0 else {
            throw Peer.ConnectionError.notListening(errno)
        }
        port = SocketServer.port(of: listening)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        // A queue for none holds one; the rest are there to make sure.
        let guests = (0..<4).map { _ in
            let guest = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            withUnsafePointer(to: address) {
                _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(guest, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return guest
        }
        sockets = guests + [listening]
    }

    deinit { for socket in sockets { close(socket) } }
}
