package import Loop
import CLinux

/// Where a worker listens: `unix:PATH` or `HOST:PORT` with a literal IPv4 or bracketed IPv6 address.
package enum ListenAddress: Sendable, Equatable, CustomStringConvertible {
    case unix(path: String)
    case internet(host: String, port: UInt16)

    /// What fits into a socket address with its ending NUL, and with the process id that the temporary name ends in.
    package static let maximumPathBytes = 107 - ".4194304".utf8.count

    package init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty, path.utf8.count <= Self.maximumPathBytes else { return nil }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = Self.port(text[text.index(after: colon)...]) else {
            return nil
        }
        let host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            let inner = String(host.dropFirst().dropLast())
            guard Self.isAddress(inner, AF_INET6) else { return nil }
            self = .internet(host: inner, port: port)
        } else {
            guard Self.isAddress(String(host), AF_INET) else { return nil }
            self = .internet(host: String(host), port: port)
        }
    }

    private static func port(_ text: Substring) -> UInt16? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt16(text) : nil
    }

    private static func isAddress(_ text: String, _ family: Int32) -> Bool {
        var address = in6_addr()
        return unsafe inet_pton(family, text, &address) == 1
    }

    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .internet(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }

    /// A listening socket. A unix socket is bound under a temporary name and renamed, so that the path always leads to
    /// a worker: to the old one, then to the new one.
    ///
    /// - Parameter publish: called to put a unix socket in its place; call it when the worker is ready.
    package func listen(backlog: Int32 = 4096) throws(SystemError) -> (
        socket: Int32, publish: @Sendable () throws(SystemError) -> Void
    ) {
        switch self {
        case .unix(let path):
            let temporary = "\(path).\(getpid())"
            _ = unsafe unlink(temporary)
            let socket = unsafe cloakroom_listen_unix(temporary, backlog)
            guard socket >= 0 else { throw SystemError() }
            return (
                socket,
                { () throws(SystemError) in
                    guard unsafe rename(temporary, path) == 0 else { throw SystemError() }
                }
            )
        case .internet(let host, let port):
            let socket = unsafe cloakroom_listen_internet(host, port, backlog)
            guard socket >= 0 else { throw SystemError() }
            return (socket, {})
        }
    }
}
