/// Where Redis listens: `unix:PATH` or `HOST:PORT`, a name or a literal address.
package enum RedisAddress: Sendable, Equatable, CustomStringConvertible {
    case unix(path: String)
    case internet(host: String, port: UInt16)

    package init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty, path.utf8.count <= 107 else { return nil }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            return nil
        }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        guard !host.isEmpty, !host.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "/") }) else { return nil }
        self = .internet(host: host, port: port)
    }

    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .internet(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }
}
