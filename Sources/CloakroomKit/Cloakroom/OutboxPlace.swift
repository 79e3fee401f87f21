import Foundation

/// Where the queue of uploads of a user is: beside the users' folders, since these are in no backup of the device, and photos
/// that are unsent are to be in one.
struct OutboxPlace {
    /// Of all users' queues.
    let folder: URL
    /// In the user's own folder, where earlier versions had it.
    let formerFolder: URL
    private let name: String

    init(of owner: StoreOwner, in parent: URL, userFolder: URL) {
        folder = parent.appendingPathComponent("outbox", isDirectory: true)
        formerFolder = userFolder.appendingPathComponent("outbox", isDirectory: true)
        name = owner.folderName
    }

    /// Which of the two has the user's queue: of an app that has gone back to an earlier version, the former one, until that is
    /// empty.
    ///
    /// - Returns: `nil` where there is none.
    func found() -> URL? { all().first }

    /// Those that have a queue, first the one to open: both where an app has gone back to an earlier version.
    func all() -> [URL] {
        switch (hasQueue(formerFolder), hasQueue(folder)) {
        case (false, false): []
        case (true, false): [formerFolder]
        case (false, true): [folder]
        case (true, true): hasFiles(formerFolder) ? [formerFolder, folder] : [folder, formerFolder]
        }
    }

    /// Moves the queue of an earlier version.
    ///
    /// - Returns: which of the two to open: the former one where it cannot be moved, as on a full disk, and while another
    ///   outbox has it.
    func prepared() -> URL {
        guard found() == formerFolder, !hasQueue(folder) else { return found() ?? folder }
        let former = queue(in: formerFolder)
        guard let lock = try? FolderLock(at: former.appendingPathComponent("lock", isDirectory: false)) else {
            return formerFolder
        }
        return withExtendedLifetime(lock) {
            do {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                try FileManager.default.moveItem(at: former, to: queue(in: folder))
                return folder
            } catch {
                return formerFolder
            }
        }
    }

    private func queue(in folder: URL) -> URL { folder.appendingPathComponent(name, isDirectory: true) }

    private func hasQueue(_ folder: URL) -> Bool { FileManager.default.fileExists(atPath: queue(in: folder).path) }

    private func hasFiles(_ folder: URL) -> Bool {
        let files = queue(in: folder).appendingPathComponent("files", isDirectory: true)
        return (try? FileManager.default.contentsOfDirectory(atPath: files.path))?.isEmpty == false
    }
}
