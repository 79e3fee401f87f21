import Foundation
import Glibc
import Synchronization

/// Listens, and gives every connection a thread of its own, on which a script speaks with it.
package final class SocketServer: Sendable {
    private struct State {
        var peers: [Int: Peer] = [:]
        var accepted = 0
        var isStopped = false
    }

    private let listening: Int32
    private let state = Mutex(State())
    /// Of a server on the loopback interface; else 0.
    package let port: UInt16

    /// - Parameters:
    ///   - unixPath: `nil` for a free port of 127.0.0.1.
    ///   - script: is told the connection's number, from 0; when it returns, the connection is closed.
    package init(unixPath: String? = nil, script: @escaping @Sendable (Peer, Int) -> Void) throws {
        let listening = socket(unixPath == nil ? AF_INET : AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let bound =
            if let unixPath {
                UnixAddress(unixPath).withAddress { bind(listening, $0, $1) }
            } else {
                Self.withLoopback { bind(listening, $0, $1) }
            }
        guard bound == 0, listen(listening, 4096) == 0 else {
            let code = errno
            close(listening)
            throw Peer.ConnectionError.notListening(code)
        }
        self.listening = listening
        port = unixPath == nil ? Self.port(of: listening) : 0
        let thread = Thread { [self] in acceptAll(script) }
        thread.start()
    }

    /// Connections taken so far.
    package var accepted: Int { state.withLock { $0.accepted } }

    /// Ends every connection and listens no more.
    package func stop() {
        let peers: [Peer]? = state.withLock { state in
            // Its descriptor may be somebody else's after the first time.
            guard !state.isStopped else { return nil }
            state.isStopped = true
            return Array(state.peers.values)
        }
        guard let peers else { return }
        shutdown(listening, Int32(SHUT_RDWR))
        for peer in peers { peer.interrupt() }
    }

    private func acceptAll(_ script: @escaping @Sendable (Peer, Int) -> Void) {
        while true {
            let accepted = accept(listening, nil, nil)
            guard accepted >= 0 else { break }
            let peer = Peer(owning: accepted)
            let (number, isStopped) = state.withLock { state in
                defer { state.accepted += 1 }
                state.peers[state.accepted] = peer
                return (state.accepted, state.isStopped)
            }
            if isStopped { break }
            let thread = Thread { [self] in
                script(peer, number)
                _ = state.withLock { $0.peers.removeValue(forKey: number) }
                peer.close()
            }
            thread.start()
        }
        close(listening)
    }

    /// - Parameter port: 0 for any that is free.
    static func withLoopback<T>(port: UInt16 = 0, _ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        return withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    static func port(of socket: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}
