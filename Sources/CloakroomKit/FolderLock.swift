package import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The right to write to a folder, for one process at a time (`flock`): it ends with the process at the latest.
package final class FolderLock: Sendable {
    private let descriptor: Int32

    /// - Returns: `nil` when another process has it.
    package init?(at file: URL) throws(CloakroomError) {
        let descriptor = open(file.path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file("open", file) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            defer { close(descriptor) }
            guard isHeld else { throw .file("lock", file) }
            return nil
        }
        self.descriptor = descriptor
    }

    deinit {
        // A process that is being started has the descriptor, too, until it runs its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
