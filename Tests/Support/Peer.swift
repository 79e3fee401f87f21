import Glibc
import Synchronization

/// One end of a stream connection, for threads that may wait: never longer than ten seconds.
package final class Peer: Sendable {
    package enum ConnectionError: Error { case timeout, broken(Int32), notListening(Int32) }

    private let socket: Mutex<Int32>
    private let raw: Int32

    /// - Parameter socket: blocking, and owned from here on.
    init(owning socket: Int32) {
        raw = socket
        self.socket = Mutex(socket)
        var timeout = timeval(tv_sec: 10, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
        // Replies in two writes are not to wait for an acknowledgement; of no effect on a unix socket.
        var isOn: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close() }

    /// Connects to a unix socket.
    package convenience init(unixPath path: String) throws {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = UnixAddress(path).withAddress { connect(socket, $0, $1) }
        self.init(owning: socket)
        guard result == 0 else { throw ConnectionError.notListening(errno) }
    }

    /// Connects to a port of 127.0.0.1.
    package convenience init(port: UInt16) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let result = SocketServer.withLoopback(port: port) { connect(socket, $0, $1) }
        self.init(owning: socket)
        guard result == 0 else { throw ConnectionError.notListening(errno) }
    }

    /// Of the other side, such as `127.0.0.1`; `nil` on a unix socket.
    var address: String? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(raw, $0, &length) }
        }
        guard result == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
        return withUnsafeBytes(of: address.sin_addr) { $0.map { "\($0)" }.joined(separator: ".") }
    }

    /// - Returns: what is there, at least a byte; nothing at the end of the stream.
    package func read(_ maximum: Int = 65_536) throws -> [UInt8] {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, initialized in
            count = recv(raw, buffer.baseAddress, maximum, 0)
            initialized = max(0, count)
        }
        if count < 0 { throw errno == EAGAIN ? ConnectionError.timeout : ConnectionError.broken(errno) }
        return bytes
    }

    /// Everything until the other side closes or breaks off.
    package func readToEnd() throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let some: [UInt8]
            do { some = try read() } catch ConnectionError.broken { return all }
            if some.isEmpty { return all }
            all += some
        }
    }

    package func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw errno == EAGAIN ? ConnectionError.timeout : ConnectionError.broken(errno) }
            rest = rest.dropFirst(count)
        }
    }

    /// Blocks until the other side has closed, without reading what it sent before.
    ///
    /// - Returns: whether it has within ten seconds.
    package func waitForHangup() -> Bool {
        var request = pollfd(fd: raw, events: 0, revents: 0)
        return poll(&request, 1, 10_000) == 1
    }

    /// Ends one direction; the other goes on.
    package func finishWriting() { shutdown(raw, Int32(SHUT_WR)) }

    package func close() {
        socket.withLock { socket in
            if socket >= 0 { Glibc.close(socket) }
            socket = -1
        }
    }

    /// Closes with a reset instead of an end.
    package func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(raw, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        close()
    }

    /// Wakes whoever waits here; the owner closes.
    func interrupt() { socket.withLock { if $0 >= 0 { shutdown($0, Int32(SHUT_RDWR)) } } }
}

/// A unix socket's address in the shape that system calls take.
struct UnixAddress {
    private var address = sockaddr_un()

    init(_ path: String) {
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    }

    func withAddress<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }
}

extension Peer {
    /// Takes a connection that waits for a non-blocking listener, and closes it.
    ///
    /// - Returns: whether there was one.
    package static func pendingConnection(of listener: Int32) -> Bool { closing(accept(listener, nil, nil)) }

    @discardableResult
    package static func closing(_ socket: Int32) -> Bool { Glibc.close(socket) == 0 }
}
