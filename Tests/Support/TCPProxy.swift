import Foundation
import Glibc
import Synchronization

/// Passes bytes on to a server on 127.0.0.1, and holds them back while the network is cut: connections stay open, new ones
/// are accepted, and nothing arrives. What was held back arrives after the cut, as TCP would send it again.
package final class TCPProxy: Sendable {
    /// Whether bytes are held back.
    private final class Network: Sendable {
        private let isCut = Mutex(false)

        func set(_ isCut: Bool) { self.isCut.withLock { $0 = isCut } }

        /// Blocks the thread while it is cut.
        func wait() { while isCut.withLock({ $0 }) { usleep(1000) } }
    }

    private let network = Network()
    private let server: SocketServer
    package var port: UInt16 { server.port }

    /// - Parameters:
    ///   - target: the server's port.
    ///   - source: the address of clients that no cut concerns.
    package init(to target: UInt16, exempting source: String) throws {
        server = try SocketServer { [network] client, _ in
            guard let target = try? Peer(port: target) else { return }
            let held = client.address == source ? nil : network
            let back = Latch()
            let thread = Thread {
                Self.pass(from: target, to: client, held)
                back.open()
            }
            thread.start()
            Self.pass(from: client, to: target, held)
            // The client's socket is closed once both directions have ended.
            while !back.wait() {}
        }
    }

    deinit {
        restore()
        server.stop()
    }

    package func cut() { network.set(true) }

    package func restore() { network.set(false) }

    /// Until one side ends; then the other side is told so.
    private static func pass(from source: Peer, to target: Peer, _ network: Network?) {
        while true {
            let bytes: [UInt8]
            do { bytes = try source.read() } catch Peer.ConnectionError.timeout { continue } catch { break }
            network?.wait()
            guard !bytes.isEmpty, (try? target.write(bytes)) != nil else { break }
        }
        network?.wait()
        source.interrupt()
        target.interrupt()
    }
}
