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
/// whether it can be used.
final class ImageCacheFolder: Sendable {
    struct File: Sendable {
        let name: String
        let byteCount: Int64
        let modified: Date
    }

    private let folder: PrivateFolder
    let url: URL

    /// - Parameter folder: of all users; made where there is none.
    init(in folder: URL, owner: StoreOwner) throws(CloakroomError) {
        url = folder.appendingPathComponent(SHA256.hash(owner.bytes).prefix(16).hexadecimal, isDirectory: true)
        do throws(PrivateFolderError) {
            self.folder = try PrivateFolder(making: url.path)
        } catch {
            throw CloakroomError(error, of: Self.name)
        }
        excludeFromBackup()
    }

    /// What is there; remains of processes that were killed while they wrote are removed.
    func files() -> [File] {
        let names = (try? folder.names()) ?? []
        return names.compactMap { name in
            var status = stat()
            guard !name.hasPrefix(Self.partial), fstatat(folder.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else {
                remove(name)
                return nil
            }
            return File(name: name, byteCount: Int64(status.st_size), modified: Self.modified(status))
        }
    }

    /// - Returns: `nil` for a file that is missing, longer, or not ours alone.
    func read(_ name: String, byteCount: Int64) -> [UInt8]? {
        guard let content = try? folder.read(name, maximumByteCount: Int(clamping: byteCount)),
            case .bytes(let bytes) = content
        else { return nil }
        return bytes
    }

    /// - Returns: the name of a file that ``place(_:as:)`` makes a cached one.
    func write(_ bytes: [UInt8]) throws(CloakroomError) -> String {
        let name = "\(Self.partial)\(UInt64.random(in: .min ... .max))"
        do throws(PrivateFolderError) {
            let file = try folder.newFile(name)
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
        guard renameat(folder.descriptor, temporary, folder.descriptor, name) == 0 else {
            let error = PrivateFolderError("rename")
            remove(temporary)
            throw CloakroomError(error, of: Self.name)
        }
    }

    /// No error when there is nothing of that name, or it cannot be removed: its digest or its end are looked at again.
    func remove(_ name: String) { try? folder.remove(name) }

    /// Notes when a file was used last.
    func touch(_ name: String, at date: Date) {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        var times = [timespec](repeating: timespec(), count: 2)
        for index in times.indices { times[index].tv_sec = time_t(seconds) }
        _ = utimensat(folder.descriptor, name, times, AT_SYMLINK_NOFOLLOW)
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
