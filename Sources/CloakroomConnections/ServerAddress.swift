import CloakroomCLinux
import CloakroomLoop

/// Where a server listens.
package enum ServerAddress: Sendable, Equatable {
    case unix(path: String)
    /// - Parameter host: an address of IPv4 or IPv6, without brackets.
    case internet(host: String, port: UInt16)

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
}
