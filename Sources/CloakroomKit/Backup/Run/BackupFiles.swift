import Foundation

/// What is to be backed up. Making one reads a folder, or the metadata of each file, and blocks meanwhile.
struct BackupFiles: Sendable {
    private(set) var paths: [String] = []
    private(set) var byteCount: Int64 = 0
    private(set) var unreadable: [BackupReport.Failure] = []

    init(_ files: [URL]) {
        for path in files.map(\.path) {
            do {
                add(path, byteCount: try FileStamp(path: path).byteCount)
            } catch {
                unreadable.append(.init(file: URL(fileURLWithPath: path), error: error))
            }
        }
    }

    /// - Throws: ``CloakroomError/Code/unreadableFile`` when the folder itself cannot be read.
    init(in folder: URL, includingHidden: Bool) throws(CloakroomError) {
        let found = try FolderWalk(includesHiddenFiles: includingHidden).files(in: folder.path)
        unreadable = found.unreadable.sorted { $0.key < $1.key }.map {
            .init(file: URL(fileURLWithPath: $0.key), error: $0.value)
        }
        for file in found.files { add(file.path, byteCount: file.byteCount) }
    }

    private mutating func add(_ path: String, byteCount: Int64) {
        paths.append(path)
        self.byteCount += byteCount
    }
}
