import CloakroomCrypto
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

/// The files of a store, for their user alone.
struct StoreFolder: Sendable {
    let url: URL

    /// The photos, each as `{SHA-256}.{format}`.
    let photos: URL
    // With a slash at their ends: photos are opened too often for a URL to be taken apart each time.
    private let photosPath: String
    let incomingPath: String
    /// What is being copied in, or fetched: nothing in it is a photo's only copy.
    let incoming: URL
    /// What another process left for the one that writes: each `{random}.photo` with its `{random}.json`.
    let inbox: URL
    let catalog: URL
    let lock: URL
    /// Whose photos these are, also when the catalog is lost.
    let identity: URL

    init(_ url: URL) {
        self.url = url
        photos = url.appendingPathComponent("photos", isDirectory: true)
        photosPath = photos.path.hasSuffix("/") ? photos.path : photos.path + "/"
        incoming = url.appendingPathComponent("incoming", isDirectory: true)
        incomingPath = incoming.path.hasSuffix("/") ? incoming.path : incoming.path + "/"
        inbox = url.appendingPathComponent("inbox", isDirectory: true)
        catalog = url.appendingPathComponent("catalog.sqlite", isDirectory: false)
        identity = url.appendingPathComponent("identity", isDirectory: false)
        lock = url.appendingPathComponent("lock", isDirectory: false)
    }

    /// Makes the folders that are not there.
    func make() throws(CloakroomError) {
        for folder in [url, photos, incoming, inbox] {
            do {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw CloakroomError.writing(folder, error)
            }
        }
    }

    func photo(_ name: String) -> URL { URL(fileURLWithPath: photosPath + name, isDirectory: false) }

    /// - Returns: `nil` when there is no regular file.
    static func status(_ file: URL) -> stat? {
        var status = stat()
        guard lstat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return status
    }

    /// Disk space of a file, in bytes.
    static func allocatedBytes(_ status: stat) -> Int64 { Int64(status.st_blocks) * 512 }

    /// When the system last changed what it has of a file, in nanoseconds since 1970.
    static func changeTime(_ status: stat) -> Int64 {
        #if canImport(Darwin)
            let time = status.st_ctimespec
        #else
            let time = status.st_ctim
        #endif
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// For a folder that is looked into often: no other name of its path is looked up each time.
    ///
    /// - Returns: `nil` when there is no regular file.
    static func status(of name: String, in folder: FolderDescriptor) -> stat? {
        var status = stat()
        guard fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return status
    }

    /// Has the bytes of a file survive a loss of power.
    static func syncFile(_ file: URL) throws(CloakroomError) {
        let descriptor = open(file.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("open", file) }
        defer { close(descriptor) }
        guard PrivateFolder.sync(descriptor) else { throw .file("sync", file) }
    }

    /// Writes a file for its user alone, in the place of the one that is there.
    ///
    /// - Returns: when its bytes are on the disk; its name is when the folder was synced.
    static func write(_ bytes: Data, to file: URL) throws(CloakroomError) {
        do { try bytes.write(to: file, options: .atomic) } catch { throw CloakroomError.writing(file, error) }
        guard chmod(file.path, 0o600) == 0 else { throw .file("set the mode of", file) }
        try syncFile(file)
    }

    /// The names in a folder.
    static func names(in folder: URL) throws(CloakroomError) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: folder.path) } catch {
            throw CloakroomError(of: error, otherwise: .unreadableFile, "the folder \(folder.lastPathComponent)")
        }
    }

    /// Has the names in a folder survive a loss of power.
    static func sync(_ folder: URL) throws(CloakroomError) {
        let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("open", folder) }
        defer { close(descriptor) }
        guard PrivateFolder.sync(descriptor) else { throw .file("sync", folder) }
    }

    /// Gives a file of this folder another name, in one step; what had that name is replaced.
    static func move(_ file: URL, to target: URL) throws(CloakroomError) {
        guard rename(file.path, target.path) == 0 else { throw .file("rename to", target) }
    }

    /// That there is none is no error.
    static func remove(_ file: URL) throws(CloakroomError) {
        guard unlink(file.path) == 0 || errno == ENOENT else { throw .file("remove", file) }
    }

    /// Room for files, in bytes; `nil` where the system does not say.
    var freeBytes: Int64? {
        var status = statvfs()
        guard statvfs(url.path, &status) == 0 else { return nil }
        return Int64(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
    }
}

extension StoreFolder {
    /// Whether a file has the bytes that were read of it, though its inode is another one: volumes without lasting inodes
    /// show that of each file. Its size and date are as before, and so is its digest.
    static func isUnchanged(_ file: URL, since before: stat, _ sha256: [UInt8]) async throws -> Bool {
        func isAsBefore() -> Bool {
            guard let now = status(file) else { return false }
            return now.st_size == before.st_size && Date(modified: now) == Date(modified: before)
        }
        guard isAsBefore(), try await PhotoContent(of: file).sha256 == sha256 else { return false }
        return isAsBefore()
    }
}

extension Date {
    /// When a file was last written.
    init(modified status: stat) {
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        self.init(timeIntervalSince1970: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }
}
