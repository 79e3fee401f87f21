import CloakroomCrypto
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

/// The files of one user's cache of images: mode 0600, in a folder of mode 0700, none reached through a link.
///
/// A file gets its name when all of it is written. It is not synced: after a loss of power the digest in its name shows
/// whether it can be used. On a disk that has no room for the folder nothing is cached until it has.
///
/// `@unchecked`: a lock guards what changes; `Mutex` is not there on the systems that the kit supports.
final class ImageCacheFolder: @unchecked Sendable {
    struct File: Sendable {
        let name: String
        let byteCount: Int64
        let modified: Date
    }

    /// An open folder, for as long as anything uses it.
    private final class Opened: Sendable {
        let folder: PrivateFolder

        init(_ path: String) throws(PrivateFolderError) { folder = try PrivateFolder(making: path) }
    }

    let url: URL
    private let lock = NSLock()
    /// `nil` while there was no room for it.
    private var opened: Opened?

    /// - Parameter folder: of all users; made where there is none.
    init(in folder: URL, owner: StoreOwner) throws(CloakroomError) {
        url = folder.appendingPathComponent(SHA256.hash(owner.bytes).prefix(16).hexadecimal, isDirectory: true)
        do {
            _ = try open()
        } catch {
            guard error.code == .diskFull else { throw error }
        }
    }

    private func open() throws(CloakroomError) -> Opened {
        lock.lock()
        defer { lock.unlock() }
        if let opened { return opened }
        do throws(PrivateFolderError) {
            let new = try Opened(url.path)
            opened = new
            excludeFromBackup()
            return new
        } catch {
            throw CloakroomError(error, of: Self.name)
        }
    }

    /// What is there; remains of processes that were killed while they wrote are removed.
    func files() -> [File] {
        guard let opened = try? open() else { return [] }
        let names = (try? opened.folder.names()) ?? []
        return names.compactMap { name in
            var status = stat()
            guard !name.hasPrefix(Self.partial),
                fstatat(opened.folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else {
                remove(name)
                return nil
            }
            return File(name: name, byteCount: Int64(status.st_size), modified: Self.modified(status))
        }
    }

    func removeAll() { for file in files() { remove(file.name) } }

    /// - Returns: `nil` for a file that is missing, longer, or not ours alone.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/storeFailed`` for one that cannot be opened now, as while the
    ///   device is locked.
    func read(_ name: String, byteCount: Int64) throws(CloakroomError) -> [UInt8]? {
        let opened = try open()
        do throws(PrivateFolderError) {
            let content = try opened.folder.read(name, maximumByteCount: Int(clamping: byteCount))
            if case .bytes(let bytes) = content { return bytes }
            return nil
        } catch {
            throw CloakroomError(error, of: Self.name)
        }
    }

    /// - Returns: the name of a file that ``place(_:as:)`` makes a cached one.
    func write(_ bytes: [UInt8]) throws(CloakroomError) -> String {
        let name = "\(Self.partial)\(UInt64.random(in: .min ... .max))"
        let opened = try open()
        do throws(PrivateFolderError) {
            let file = try opened.folder.newFile(name)
            do throws(PrivateFolderError) {
                try file.append(bytes)
            } catch {
                remove(name)
                throw error
            }
        } catch {
            throw CloakroomError(error, of: Self.name)
        }
        return name
    }

    func place(_ temporary: String, as name: String) throws(CloakroomError) {
        let descriptor = try open().folder.descriptor
        guard renameat(descriptor, temporary, descriptor, name) == 0 else {
            let error = PrivateFolderError("rename")
            remove(temporary)
            throw CloakroomError(error, of: Self.name)
        }
    }

    /// No error when there is nothing of that name, or it cannot be removed: its digest or its end are looked at again.
    func remove(_ name: String) { try? open().folder.remove(name) }

    /// Notes when a file was used last.
    func touch(_ name: String, at date: Date) {
        guard let opened = try? open() else { return }
        let seconds = date.timeIntervalSince1970.rounded(.down)
        var times = [timespec](repeating: timespec(), count: 2)
        for index in times.indices { times[index].tv_sec = time_t(seconds) }
        _ = utimensat(opened.folder.descriptor, name, times, AT_SYMLINK_NOFOLLOW)
    }

    private static let partial = ".partial-"
    private static let name = "the cache of images"

    private static func modified(_ status: stat) -> Date {
        #if canImport(Darwin)
            Date(timeIntervalSince1970: TimeInterval(status.st_mtimespec.tv_sec))
        #else
            Date(timeIntervalSince1970: TimeInterval(status.st_mtim.tv_sec))
        #endif
    }

    private func excludeFromBackup() {
        #if canImport(Darwin)
            var folder = url
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try? folder.setResourceValues(values)
        #endif
    }
}
