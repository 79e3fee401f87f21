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

/// The two ends of a pipe(2); close-on-exec.
struct Pipe: ~Copyable {
    let readEnd: Descriptor
    let writeEnd: Descriptor

    init() throws(SystemError) {
        var ends: (Int32, Int32) = (-1, -1)
        let made = unsafe withUnsafeMutablePointer(to: &ends) { ends in
            unsafe cloakroom_pipe(UnsafeMutableRawPointer(ends).assumingMemoryBound(to: Int32.self))
        }
        guard made == 0 else { throw SystemError() }
        readEnd = Descriptor(owning: ends.0)
        writeEnd = Descriptor(owning: ends.1)
    }
}

/// A failed system call.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package let code: Int32

    /// - Parameter code: `errno`, as the call just made left it.
    package init(code: Int32 = cloakroom_errno()) { self.code = code }

    package var description: String { unsafe String(cString: strerror(code)) }
}
