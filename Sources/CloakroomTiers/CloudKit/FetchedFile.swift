import CloakroomKit
import Foundation

/// What has been fetched of a photo, beside the file that it is to become.
struct FetchedFile: Sendable {
    let url: URL
    private let destination: URL

    init(of destination: URL) {
        let name = PartialFile.hiddenName(of: destination.lastPathComponent)
        url = destination.deletingLastPathComponent().appendingPathComponent("\(name).asset", isDirectory: false)
        self.destination = destination
    }

    /// Makes it the file, in one step, when it is on the disk.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/diskFull``, ``CloakroomError/Code/unwritableFile``.
    func finish() throws(CloakroomError) {
        let file = open(url.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw .file("open", destination) }
        defer { close(file) }
        // As other files of the store: for the user alone.
        guard fchmod(file, 0o600) == 0, PrivateFolder.sync(file) else { throw .file("sync", destination) }
        try StoreFolder.move(url, to: destination)
    }

    func discard() { unlink(url.path) }
}
