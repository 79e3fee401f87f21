import CloakroomCLinux
import CloakroomOperations
import CloakroomServer

/// Whether the audit's file can be written by the calling user, without writing to it.
enum AuditFile {
    /// - Returns: `nil` where it can be, and where the audit goes elsewhere.
    static func fault(_ settings: Settings) -> AuditFileError? {
        guard case .file(let path) = settings.audit.destination else { return nil }
        var status = stat()
        let isThere = stat(path, &status) == 0
        if isThere, status.st_mode & 0o170_000 == 0o040_000 {
            return AuditFileError(path: path, reason: String(cString: strerror(EISDIR)))
        }
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let (place, mode) = isThere ? (path, W_OK) : (folder, W_OK | X_OK)
        // By the effective user, as opening it would be (faccessat(2)).
        guard faccessat(AT_FDCWD, place, mode, AT_EACCESS) != 0 else { return nil }
        return AuditFileError(path: place, reason: String(cString: strerror(cloakroom_errno())))
    }
}
