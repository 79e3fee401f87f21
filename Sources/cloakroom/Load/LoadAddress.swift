import CloakroomCLinux
import CloakroomConnections
import CloakroomFastCGI
import CloakroomHTTP

/// Where a load goes: nginx by a URL, or one worker by FastCGI.
enum LoadAddress: Sendable, Equatable, CustomStringConvertible {
    /// Scheme, host and port.
    case http(origin: String, host: String)
    case fastCGI(ListenAddress)

    /// - Parameter text: `https://HOST[:PORT]`, `http://…`, `unix:PATH` or `fastcgi://ADDRESS:PORT`.
    init?(_ text: String) {
        if text.hasPrefix("unix:") {
            guard let address = ListenAddress(text) else { return nil }
            self = .fastCGI(address)
        } else if text.hasPrefix("fastcgi://") {
            guard let address = ListenAddress(String(text.dropFirst("fastcgi://".count))) else { return nil }
            self = .fastCGI(address)
        } else if text.hasPrefix("https://") || text.hasPrefix("http://"),
            let (origin, target) = text.originAndTarget, target == "/",
            let authority = origin.split(separator: "/").last, !authority.contains("@"),
            let host = Self.host(of: authority)
        {
            self = .http(origin: origin, host: host)
        } else {
            return nil
        }
    }

    /// Without brackets and port.
    private static func host(of authority: Substring) -> String? {
        let host: Substring
        if authority.first == "[" {
            host = authority.dropFirst().prefix { $0 != "]" }
        } else {
            host = authority.prefix { $0 != ":" }
        }
        return host.isEmpty ? nil : host.lowercased()
    }

    /// What `--yes-load` has to name; `nil` where only this machine is meant.
    var remoteHost: String? {
        switch self {
        case .http(_, let host): Self.isLoopback(host) ? nil : host
        case .fastCGI(.unix): nil
        case .fastCGI(.internet(let host, _)): Self.isLoopback(host) ? nil : host
        }
    }

    /// A name other than `localhost` may lead anywhere.
    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        var four = in_addr()
        if inet_pton(AF_INET, host, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
        var six = in6_addr()
        guard inet_pton(AF_INET6, host, &six) == 1 else { return false }
        return withUnsafeBytes(of: six) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
    }

    /// Where HTTP without TLS goes, and the authority that requests name.
    ///
    /// It blocks while a name server is asked.
    /// - Returns: `nil` with TLS, and where libcurl is to say what is wrong: with a port that is none, or a name that does
    ///   not resolve.
    func plainServer() -> (authority: String, addresses: [ServerAddress])? {
        guard case .http(let origin, let host) = self, origin.hasPrefix("http://") else { return nil }
        let authority = origin.dropFirst("http://".count)
        guard authority.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        // An address of IPv6 has colons of its own, in brackets.
        let colon = authority[(authority.lastIndex(of: "]") ?? authority.startIndex)...].firstIndex(of: ":")
        let digits = colon.map { authority[authority.index(after: $0)...] } ?? "80"
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits), port > 0 else {
            return nil
        }
        let addresses = ServerAddress.resolve(host: host, port: port)
        guard !addresses.isEmpty else { return nil }
        return (String(port == 80 ? authority[..<(colon ?? authority.endIndex)] : authority), addresses)
    }

    /// As it was given.
    var description: String {
        switch self {
        case .http(let origin, _): origin
        case .fastCGI(.unix(let path)): "unix:\(path)"
        case .fastCGI(let address): "fastcgi://\(address)"
        }
    }
}
