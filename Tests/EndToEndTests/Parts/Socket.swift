import Foundation

/// A blocking socket with a time limit, closed by its owner or when nobody has it any more.
final class Socket {
    /// Children must not keep our connections open.
    static let closeOnExec: Int32 = 0o2000000

    private var descriptor: Int32

    struct SocketError: Error, CustomStringConvertible {
        let description: String
        init(_ what: String) { description = "\(what): \(String(cString: strerror(errno)))" }
    }

    init(path: String, timeout: Duration = .seconds(10)) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Self.closeOnExec, 0)
        setTimeout(timeout)
        guard Self.withAddress(path: path, { connect(descriptor, $0, $1) }) == 0 else {
            defer { shut() }
            throw SocketError("connect \(path)")
        }
    }

    init(port: Int, timeout: Duration = .seconds(10)) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Self.closeOnExec, 0)
        setTimeout(timeout)
        guard Self.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 else {
            defer { shut() }
            throw SocketError("connect 127.0.0.1:\(port)")
        }
    }

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { shut() }

    /// The process that listened on the unix socket this one is connected to (SO_PEERCRED, unix(7)).
    var peer: pid_t {
        get throws {
            // pid, uid and gid: ucred, which Glibc hides.
            var credentials: (pid_t, uid_t, gid_t) = (0, 0, 0)
            var size = socklen_t(MemoryLayout.size(ofValue: credentials))
            guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else {
                throw SocketError("SO_PEERCRED")
            }
            return credentials.0
        }
    }

    func shut() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
    }

    /// Ends our direction alone.
    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    func setReceiveBuffer(_ bytes: Int32) {
        var bytes = bytes
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: Bytes

    func send(_ bytes: some Collection<UInt8>) throws {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw SocketError("send") }
            sent += count
        }
    }

    func send(_ text: String) throws { try send(text.utf8) }

    /// - Returns: what has come, at least one byte; `nil` at the end.
    func receive(atMost limit: Int = 65_536) throws -> [UInt8]? {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
            count = recv(descriptor, buffer.baseAddress, limit, 0)
            filled = max(0, count)
        }
        guard count >= 0 else { throw SocketError("receive") }
        return count == 0 ? nil : bytes
    }

    func receiveToEnd() throws -> [UInt8] {
        var all: [UInt8] = []
        while let bytes = try receive() { all += bytes }
        return all
    }

    // MARK: Serving

    /// A listening socket; for servers that misbehave on purpose.
    static func listening(path: String) throws -> Socket {
        let listening = Socket(descriptor: socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | closeOnExec, 0))
        unlink(path)
        guard withAddress(path: path, { bind(listening.descriptor, $0, $1) }) == 0,
            listen(listening.descriptor, 512) == 0
        else { throw SocketError("listen \(path)") }
        return listening
    }

    static func listening(port: Int) throws -> Socket {
        let listening = Socket(descriptor: socket(AF_INET, Int32(SOCK_STREAM.rawValue) | closeOnExec, 0))
        guard withAddress(port: port, { bind(listening.descriptor, $0, $1) }) == 0,
            listen(listening.descriptor, 512) == 0
        else { throw SocketError("listen 127.0.0.1:\(port)") }
        return listening
    }

    /// - Returns: `nil` when there is nobody within the time.
    func accept(within limit: Duration) -> Socket? {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, Int32(limit / .milliseconds(1))) > 0 else { return nil }
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else { return nil }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        let connection = Socket(descriptor: accepted)
        connection.setTimeout(.seconds(5))
        return connection
    }

    // MARK: Addresses

    static func withAddress<T>(path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        precondition(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }

    static func withAddress<T>(port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    private func setTimeout(_ limit: Duration) {
        var time = timeval(
            tv_sec: Int(limit.components.seconds), tv_usec: Int(limit.components.attoseconds / 1_000_000_000_000))
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }
}

/// Hands a socket to the thread that has it from then on.
struct SocketBox: @unchecked Sendable {
    // One thread at a time has it.
    let socket: Socket
    init(_ socket: Socket) { self.socket = socket }
}
