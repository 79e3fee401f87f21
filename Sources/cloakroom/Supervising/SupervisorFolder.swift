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
/// It lies beside the workers' sockets, or for ports in the folder for temporary files. Another supervisor that is started
/// on the same addresses puts a folder of its own in its place, which this one then leaves alone.
final class SupervisorFolder {
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
    private var folder: Descriptor

    /// - Parameters:
    ///   - listen: the addresses of the workers.
    ///   - isNew: whether the folder of an earlier supervisor is removed, and one made anew; `false` for one that runs its
    ///     program anew, whose folder it is unless another supervisor has taken the addresses over.
    init(listen: ListenPattern, isNew: Bool) throws(FolderError) {
        path = Self.path(listen)
        if mkdir(path, 0o700) != 0, cloakroom_errno() != EEXIST { throw .system(path, SystemError()) }
        folder = try Self.opened(path)
        guard isNew || wasTakenOver else { return }
        let new = "\(path).\(getpid())"
        // One that is there was left by a process of our number that was killed before it could move it.
        guard mkdir(new, 0o700) == 0 || (rmdir(new) == 0 && mkdir(new, 0o700) == 0) else {
            removeFiles()
            return
        }
        let own: Descriptor
        do throws(FolderError) { own = try Self.opened(new) } catch {
            rmdir(new)
            throw error
        }
        guard isNew else {
            // An open folder without a name: the path leads to one that is not ours.
            rmdir(new)
            folder = own
            return
        }
        for _ in 1...3 {
            removeFiles()
            // Takes the place of an empty one (rename(2)); the other supervisor may have written there again.
            if rename(new, path) == 0 {
                folder = own
                return
            }
        }
        rmdir(new)
    }

    /// For a worker that starts; open as long as this is. `nil` when no folder of ours can be at the path.
    var descriptor: Int32? {
        restore()
        return isInPlace ? folder.raw : nil
    }

    /// Whether the path leads to this folder.
    var isInPlace: Bool {
        var (own, now) = (stat(), stat())
        return fstat(folder.raw, &own) == 0 && stat(path, &now) == 0
            && own.st_dev == now.st_dev && own.st_ino == now.st_ino
    }

    /// Makes the folder anew where it was removed, such as by what cleans up temporary files.
    func restore() {
        guard !isInPlace, mkdir(path, 0o700) == 0 else { return }
        do throws(FolderError) { folder = try Self.opened(path) } catch { rmdir(path) }
    }

    /// Whether another supervisor that runs has put its status at the path.
    private var wasTakenOver: Bool {
        guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: statusFile)), bytes.count <= 1 << 16,
            let status = SupervisorStatus(Array(bytes)), status.process != getpid()
        else { return false }
        // EPERM: there is such a process, of another user.
        return kill(status.process, 0) == 0 || cloakroom_errno() == EPERM
    }

    /// Whether the folder is there, and no status in it.
    var lacksStatus: Bool { isInPlace && access(statusFile, F_OK) != 0 }

    var statusFile: String { "\(path)/status" }

    /// - Returns: where the supervisor of these workers writes its status.
    static func statusFile(listen: ListenPattern) -> String { "\(path(listen))/status" }

    func remove() {
        guard isInPlace else { return }
        removeFiles()
        rmdir(path)
    }

    private func removeFiles() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] { unlink("\(path)/\(name)") }
    }

    private static func path(_ listen: ListenPattern) -> String {
        let name = listen.name
        if name.hasPrefix("unix:") { return "\(name.dropFirst(5)).supervisor" }
        let folder = FileManager.default.temporaryDirectory.path
        return "\(folder)/cloakroom-\(geteuid())-\(name).supervisor"
    }

    private static func opened(_ path: String) throws(FolderError) -> Descriptor {
        let raw = cloakroom_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
        guard raw >= 0 else { throw .system(path, SystemError()) }
        let folder = Descriptor(owning: raw)
        var status = stat()
        guard fstat(folder.raw, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw .foreign(path)
        }
        return folder
    }
}
