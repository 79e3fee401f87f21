public import Foundation

/// The regular files of a folder and of the folders in it; symbolic links are left out.
public struct FolderPhotoSource: PhotoSource {
    private let folder: URL
    private let includesHiddenFiles: Bool
    private let wallClock: @Sendable () -> Date

    /// - Parameter includesHiddenFiles: whether names that begin with a dot belong to it.
    public init(_ folder: URL, includesHiddenFiles: Bool = false) {
        self.init(folder, includesHiddenFiles: includesHiddenFiles, wallClock: { Date() })
    }

    init(_ folder: URL, includesHiddenFiles: Bool = false, wallClock: @escaping @Sendable () -> Date) {
        self.folder = folder
        self.includesHiddenFiles = includesHiddenFiles
        self.wallClock = wallClock
    }

    /// All files, each time: a folder does not say what is new.
    ///
    /// What cannot be read is among them, so that it is in the report; it comes last, so that it does not keep the others. A
    /// file that was changed just now is read again by the next run.
    ///
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/unreadableFile`` when the folder itself cannot be read.
    public func changes(since token: Data?) async throws -> PhotoChanges {
        let found = try await walk()
        let prefix = folder.path + "/"
        return PhotoChanges(found.files.map(\.path) + found.unreadable.keys.sorted(), token: nil) { path in
            SourcePhoto(
                id: path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : path,
                version: (try? FileStamp(path: path)).map { version(of: $0) } ?? "",
                fileName: URL(fileURLWithPath: path).lastPathComponent)
        }
    }

    public func file(of photo: SourcePhoto, in folder: URL) async throws -> URL {
        let file = self.folder.appendingPathComponent(photo.id, isDirectory: false)
        var status = stat()
        guard lstat(file.path, &status) == 0 else {
            // Of what cannot be looked at, the read says why.
            guard errno == ENOENT || errno == ENOTDIR else { return file }
            try await checkDeleted(file)
            throw CloakroomError(.noSuchObject, "\(photo.id) is not in the folder any more")
        }
        guard !status.isFolder else {
            // It could not be read once. As soon as it can, its files are the photos.
            guard let stream = opendir(file.path) else { throw CloakroomError.unreadable(file.path, errno) }
            closedir(stream)
            throw CloakroomError(.noSuchObject, "\(photo.id) is a folder")
        }
        return file
    }

    /// - Throws: ``CloakroomError/Code/unreadableFile`` for a file that was not found, and may be there.
    @concurrent private func checkDeleted(_ file: URL) async throws(CloakroomError) {
        // On a disk that was unplugged no file is found.
        guard let stream = opendir(folder.path) else { throw .unreadable(folder.path, errno) }
        closedir(stream)
        let names = try? FolderWalk(includesHiddenFiles: true).names(in: file.deletingLastPathComponent().path)
        if names?.contains(file.lastPathComponent) == true {
            throw CloakroomError(.unreadableFile, "\(file.path) cannot be found by this name: it is not UTF-8")
        }
    }

    @concurrent private func walk() async throws(CloakroomError) -> (
        files: [FolderWalk.File], unreadable: [String: CloakroomError]
    ) {
        try FolderWalk(includesHiddenFiles: includesHiddenFiles).files(in: folder.path)
    }

    /// Another one for other bytes: no file has twice the version of one that might be written again unseen.
    private func version(of stamp: FileStamp) -> String {
        let version = "\(stamp.device).\(stamp.inode).\(stamp.byteCount).\(stamp.modified).\(stamp.changed)"
        return stamp.isSettled(at: wallClock()) ? version : "\(version).\(UUID().uuidString)"
    }
}
