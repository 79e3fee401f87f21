import CloakroomCLinux
import CloakroomFastCGI
import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A folder of the supervisor's own: the counters of its workers, which outlive each of them, and its status.
///
/// It lies beside the workers' sockets, or for ports in the folder for temporary files.
final class SupervisorFolder: Sendable {
    enum FolderError: Error, CustomStringConvertible {
        case system(String, SystemError)
        case foreign(String)

        var description: String {
            switch self {
            case .system(let path, let error): "\(path): \(error)"
            case .foreign(let path): "\(path) belongs to another user, or others may write to it; remove it"
            }
        }
    }

    let path: String
    private let folder: Descriptor

    /// - Parameters:
    ///   - listen: the addresses of the workers, with `%d` for the number.
    ///   - isNew: whether what an earlier supervisor left there is removed.
    init(listen: String, isNew: Bool) throws(FolderError) {
        path = Self.path(listen)
        if mkdir(path, 0o700) != 0, cloakroom_errno() != EEXIST { throw .system(path, SystemError()) }
        do throws(SystemError) {
            folder = Descriptor(owning: try Self.opened(path))
        } catch {
            throw .system(path, error)
        }
        var status = stat()
        guard fstat(folder.raw, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw .foreign(path)
        }
        if isNew { removeFiles() }
    }

    /// Open as long as this is.
    var descriptor: Int32 { folder.raw }

    var statusFile: String { "\(path)/status" }

    /// - Returns: where the supervisor of these workers writes its status.
    static func statusFile(listen: String) -> String { "\(path(listen))/status" }

    func remove() {
        removeFiles()
        rmdir(path)
    }

    private func removeFiles() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] { unlink("\(path)/\(name)") }
    }

    private static func path(_ listen: String) -> String {
        let name = listen.replacing("%d", with: "N")
        if name.hasPrefix("unix:") { return "\(name.dropFirst(5)).supervisor" }
        let folder = FileManager.default.temporaryDirectory.path
        return "\(folder)/cloakroom-\(geteuid())-\(name).supervisor"
    }

    private static func opened(_ path: String) throws(SystemError) -> Int32 {
        let descriptor = cloakroom_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemError() }
        return descriptor
    }
}
