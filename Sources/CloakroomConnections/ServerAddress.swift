import CloakroomCLinux
import CloakroomLoop

/// Where a server listens.
package enum ServerAddress: Sendable, Equatable {
    case unix(path: String)
    /// - Parameter host: an address of IPv4 or IPv6, without brackets.
    case internet(host: String, port: UInt16)

    /// All addresses of a name, or the one that it is, in the order in which they should be tried (getaddrinfo(3)).
    ///
    /// It blocks while a name server is asked: call it before there is work on the loop.
    /// - Returns: none where the name does not resolve.
    package static func resolve(host: String, port: UInt16) -> [ServerAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var addresses: [ServerAddress] = []
        var next = unsafe first
        while let entry = unsafe next {
            if let text = unsafe text(of: entry.pointee) { addresses.append(.internet(host: text, port: port)) }
            unsafe next = entry.pointee.ai_next
        }
        return addresses
    }

    /// - Returns: a socket that is connected, or about to be.
    func connect() throws(SystemError) -> Descriptor {
        var code: Int32 = 0
        let raw =
            switch self {
            case .unix(let path): unsafe cloakroom_connect_unix(path, &code)
            case .internet(let host, let port): unsafe cloakroom_connect_internet(host, port, &code)
            }
        guard raw >= 0 else { throw SystemError(code: code) }
        let socket = Descriptor(owning: raw)
        guard code == 0 || code == EINPROGRESS else { throw SystemError(code: code) }
        return socket
    }

    /// `nil` for one that is more than an address, such as one of a link.
    private static func text(of entry: addrinfo) -> String? {
        let capacity = Int(NI_MAXHOST)
        let text = unsafe String(unsafeUninitializedCapacity: capacity) { space in
            unsafe space.withMemoryRebound(to: CChar.self) { space in
                let code = unsafe getnameinfo(
                    entry.ai_addr, entry.ai_addrlen, space.baseAddress, socklen_t(space.count), nil, 0, NI_NUMERICHOST)
                return code == 0 ? unsafe strlen(space.baseAddress!) : 0
            }
        }
        return unsafe cloakroom_is_address(text) == 1 ? text : nil
    }
}
