package import Loop
import CLinux

/// Where a worker listens: `unix:PATH` or `HOST:PORT` with a literal IPv4 or bracketed IPv6 address.
package enum ListenAddress: Sendable, Equatable, CustomStringConvertible {
    case unix(path: String)
    case internet(host: String, port: UInt16)

    /// The longest path that fits into a socket address with its ending NUL.
    package static let maximumPathBytes = 107

    package init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty, path.utf8.count <= Self.maximumPathBytes else { return nil }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty else { return nil }
        self = .internet(host: host, port: port)
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
