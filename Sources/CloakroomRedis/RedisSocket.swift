import CloakroomCLinux
import CloakroomCOpenSSL
import CloakroomLoop

/// The bytes to and from one Redis server, plain or through TLS; the connection above does not know which.
///
/// Writing starts the handshake of TLS and goes on with it, so there is no state of its own for that.
@LoopActor
@safe final class RedisSocket {
    let descriptor: Descriptor
    private let session: OpaquePointer?
    /// What was received last; one for good, because the C library takes a while to find and to give back so much.
    private let received: UnsafeMutableRawBufferPointer
    /// What failed in TLS once ``send(_:)`` or ``receive(_:)`` has returned `nil`; `nil` where the socket did.
    private(set) var failure: RedisTLSFailure?

    /// - Parameter tls: `nil` for plain bytes.
    /// - Returns: `nil` if libssl would not have the name.
    init?(owning descriptor: Int32, tls: RedisTLS?, host: String) {
        self.descriptor = Descriptor(owning: descriptor)
        var session: OpaquePointer?
        if let tls {
            unsafe session = cloakroom_tls_session(tls.context, descriptor, host)
            guard unsafe session != nil else { return nil }
        }
        unsafe self.session = session
        // Last: what is not whole has no `deinit` to give it back.
        unsafe received = .allocate(byteCount: 65_536, alignment: 1)
    }

    isolated deinit {
        unsafe SSL_free(session)
        unsafe received.deallocate()
    }

    /// - Returns: how many bytes were taken, 0 for "later"; `nil` when the connection is of no further use.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let session = unsafe session else {
            let count = unsafe cloakroom_send(descriptor.raw, bytes.baseAddress, bytes.count)
            // Not connected yet, or full: the edge to writable brings us back.
            return count >= 0 ? count : [EAGAIN, EINTR, ENOTCONN].contains(cloakroom_errno()) ? 0 : nil
        }
        let count = unsafe cloakroom_tls_write(session, bytes.baseAddress, bytes.count)
        guard count < 0, cloakroom_errno() != ENOTCONN else { return max(0, count) }
        noteFailure()
        // In TLS 1.3 a server refuses a client that holds the handshake for done, and closes: why is left to be read. Before, a
        // read would write the rest of the handshake, and that may end the process (SIGPIPE).
        if failure == nil, unsafe SSL_is_init_finished(session) == 1 { _ = receive() }
        return nil
    }

    /// - Parameter body: is given what has come, if it is anything.
    /// - Returns: as ``send(_:)``, or what the body returns; `nil` at the end as well.
    func receive(_ body: (UnsafeRawBufferPointer) -> Bool) -> Int? {
        guard let count = receive() else { return nil }
        guard count > 0 else { return 0 }
        return unsafe body(UnsafeRawBufferPointer(rebasing: received[..<count])) ? count : nil
    }

    private func receive() -> Int? {
        guard let session = unsafe session else {
            let count = unsafe cloakroom_receive(descriptor.raw, received.baseAddress, received.count)
            return count > 0 ? count : count < 0 && [EAGAIN, EINTR, ENOTCONN].contains(cloakroom_errno()) ? 0 : nil
        }
        let count = unsafe cloakroom_tls_read(session, received.baseAddress, received.count)
        guard count < 0 else { return count }
        noteFailure()
        return nil
    }

    /// To be called right after a call that failed.
    private func noteFailure() {
        var cause: Int32 = 0
        guard failure == nil, let session = unsafe session,
            let text = unsafe cloakroom_tls_failure(session, &cause)
        else { return }
        failure = RedisTLSFailure(RedisTLSFailure.Cause(rawValue: cause) ?? .other, unsafe String(cString: text))
    }

    /// Whether the server was sent the beginning of a handshake that has not come to its end.
    var isInHandshake: Bool {
        guard let session = unsafe session else { return false }
        return unsafe cloakroom_tls_is_in_handshake(session) != 0
    }

    /// Whether a read of so many bytes has emptied the socket: libssl may hold more than it gave.
    func isLast(_ count: Int) -> Bool { unsafe session == nil && count < received.count }

    /// Whether reading may take writing, and writing reading, as in a handshake.
    var isEncrypted: Bool { unsafe session != nil }
}

/// Whom to trust when Redis is reached through TLS 1.2 or newer; its certificate and its name are always verified.
@safe package final class RedisTLS: @unchecked Sendable {
    // libssl counts references to a context and guards it with locks of its own.
    fileprivate let context: OpaquePointer

    /// - Parameter certificateAuthorities: a PEM file; `nil` for the system's.
    /// - Returns: `nil` if the file holds no certificate.
    package init?(certificateAuthorities: String?) {
        guard let made = unsafe cloakroom_tls_context(certificateAuthorities) else { return nil }
        unsafe context = made
    }

    deinit { unsafe SSL_CTX_free(context) }
}

/// Where Redis listens: `unix:PATH` or `HOST:PORT`, a name or a literal address.
package enum RedisAddress: Sendable, Hashable, CustomStringConvertible {
    case unix(path: String)
    case internet(host: String, port: UInt16)

    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .internet(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }
}
