import CloakroomKit
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// A folder that is open.
final class FolderDescriptor: Sendable {
    let descriptor: Int32

    init(_ folder: URL) throws(CloakroomError) {
        descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("open", folder) }
    }

    deinit { close(descriptor) }
}
