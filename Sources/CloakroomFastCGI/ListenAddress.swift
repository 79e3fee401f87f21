package import CloakroomLoop
import CloakroomCLinux

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

    /// A listening socket. A unix socket is bound under a temporary name and renamed by ``publish(listener:)``, so that
    /// the path always leads to a worker: to the old one, then to the new one.
    ///
    /// - Parameter backlog: the kernel lets no more wait than `net.core.somaxconn`, 4,096 by default (listen(2)).
    package func listen(backlog: Int32 = 16_384) throws(SystemError) -> Int32 {
        let socket: Int32
        switch self {
        case .unix:
            let temporary = temporaryPath(of: getpid()) ?? ""
            _ = unsafe unlink(temporary)
            socket = unsafe cloakroom_listen_unix(temporary, backlog)
        case .internet(let host, let port): socket = unsafe cloakroom_listen_internet(host, port, backlog)
        }
        guard socket >= 0 else { throw SystemError() }
        return socket
    }

    /// Where a process binds its unix socket until it is published; `nil` for an address of the internet.
    package func temporaryPath(of process: Int32) -> String? {
        if case .unix(let path) = self { "\(path).\(process)" } else { nil }
    }

    /// Puts the unix socket of a process that listens and is ready in its place. A process of a version that does this
    /// by itself has done so already.
    package func publish(listener process: Int32) throws(SystemError) {
        guard case .unix(let path) = self, let temporary = temporaryPath(of: process) else { return }
        guard unsafe rename(temporary, path) != 0 else { return }
        let error = SystemError()
        guard error.code == ENOENT, unsafe access(path, F_OK) == 0 else { throw error }
    }
}
