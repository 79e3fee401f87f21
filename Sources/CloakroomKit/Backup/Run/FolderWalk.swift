import Foundation

/// The regular files of a folder and of the folders in it.
///
/// Symbolic links are not followed, for they can lead in circles and out of the folder; hidden files and folders, those
/// that begin with a dot, are left out unless wanted.
struct FolderWalk {
    var includesHiddenFiles = false

    struct File: Sendable {
        let path: String
        let byteCount: Int64
    }

    /// - Returns: in the order of their names.
    /// - Throws: ``CloakroomError/Code/unreadableFile`` when the folder itself cannot be read; unreadable entries in it are
    ///   in `unreadable`.
    func files(in folder: String) throws(CloakroomError) -> (files: [File], unreadable: [String: CloakroomError]) {
        var files: [File] = []
        var unreadable: [String: CloakroomError] = [:]
        var folders = [folder]
        while let next = folders.popLast() {
            let names: [String]
            do { names = try self.names(in: next) } catch {
                if next == folder { throw error }
                unreadable[next] = error
                continue
            }
            for name in names.sorted() {
                let path = next.hasSuffix("/") ? next + name : "\(next)/\(name)"
                var status = stat()
                if lstat(path, &status) != 0 {
                    unreadable[path] = .unreadable(path, errno)
                } else if status.isRegularFile {
                    files.append(File(path: path, byteCount: Int64(status.st_size)))
                } else if status.isFolder {
                    folders.append(path)
                }
            }
        }
        return (files, unreadable)
    }

    /// - Throws: ``CloakroomError/Code/unreadableFile``
    func names(in folder: String) throws(CloakroomError) -> [String] {
        guard let stream = opendir(folder) else { throw .unreadable(folder, errno) }
        defer { closedir(stream) }
        guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return [] }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            // By its address: an entry is as long as its name, and no whole `dirent`. A name that is not UTF-8 is not found
            // again in its repaired form, and so reported.
            let name = String(cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
            guard name != ".", name != "..", includesHiddenFiles || !name.hasPrefix(".") else { continue }
            names.append(name)
        }
        // A partial listing would look complete.
        guard errno == 0 else { throw .unreadable(folder, errno) }
        return names
    }
}
