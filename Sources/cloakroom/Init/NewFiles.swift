import Glibc

/// Files that were not there before, in one folder.
struct NewFiles {
    struct WriteError: Error, CustomStringConvertible {
        let description: String
    }

    let folder: String
    /// Their paths, in order.
    private(set) var written: [String] = []
    private var folders: [String] = []

    init(folder: String) { self.folder = folder }

    func path(_ name: String) -> String { folder == "." ? name : "\(folder)/\(name)" }

    /// Makes the folders that the file needs, and the file, with these permissions whatever the umask is: the service's
    /// user has to read the settings.
    ///
    /// - Throws: where there is such a file, or a symbolic link of that name.
    mutating func write(_ text: String, to name: String, mode: mode_t) throws(WriteError) {
        let file = path(name)
        try makeFolder(folder, mode: 0o755)
        if let slash = name.lastIndex(of: "/") { try makeFolder(path(String(name[..<slash])), mode: 0o700) }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Self.failure(file) }
        written.append(file)
        guard fchmod(descriptor, mode) == 0 else {
            let failure = Self.failure(file)
            close(descriptor)
            throw failure
        }
        let bytes = Array(text.utf8)
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        let isSafe = count == bytes.count && fsync(descriptor) == 0
        guard close(descriptor) == 0, isSafe else { throw Self.failure(file) }
    }

    /// Removes what was written, and nothing else.
    func remove() {
        for file in written { unlink(file) }
        for folder in folders.reversed() { rmdir(folder) }
    }

    private mutating func makeFolder(_ path: String, mode: mode_t) throws(WriteError) {
        if mkdir(path, mode) == 0 {
            folders.append(path)
            guard chmod(path, mode) == 0 else { throw Self.failure(path) }
        } else if errno != EEXIST {
            throw Self.failure(path)
        }
    }

    private static func failure(_ path: String) -> WriteError {
        WriteError(description: "\(path): \(String(cString: strerror(errno)))")
    }
}
