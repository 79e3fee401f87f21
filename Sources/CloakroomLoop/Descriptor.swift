import CloakroomCLinux

/// An open file descriptor; closed when the value goes.
package struct Descriptor: ~Copyable, Sendable {
    package let raw: Int32

    /// - Parameter raw: what a system call returned; it is owned from here on.
    package init(owning raw: Int32) { self.raw = raw }

    /// - Throws: the `errno` of the call that returned a negative number.
    package init(checking raw: Int32) throws(SystemError) {
        guard raw >= 0 else { throw SystemError() }
        self.raw = raw
    }

    deinit { close(raw) }
}

/// A failed system call.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package let code: Int32

    /// - Parameter code: `errno`, as the call just made left it.
    package init(code: Int32 = cloakroom_errno()) { self.code = code }

    package var description: String { unsafe String(cString: strerror(code)) }
}
