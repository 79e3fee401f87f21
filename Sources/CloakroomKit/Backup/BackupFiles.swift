import Foundation

/// What is to be backed up.
struct BackupFiles: Sendable {
    private(set) var paths: [String] = []
    private(set) var byteCount: Int64 = 0
    private(set) var unreadable: [BackupReport.Failure] = []

    init(_ files: [URL]) {
        for file in files { add(file.path) }
    }

    /// - Throws: ``CloakroomError/Code/unreadableFile`` when the folder itself cannot be read.
    init(in folder: URL, includingHidden: Bool) throws(CloakroomError) {
        let found = try FolderWalk(includesHiddenFiles: includingHidden).files(in: folder.path)
        unreadable = found.unreadable.sorted { $0.key < $1.key }.map {
            .init(file: URL(fileURLWithPath: $0.key), error: $0.value)
        }
        for path in found.paths { add(path) }
    }

    private mutating func add(_ path: String) {
        do {
            byteCount += try FileStamp(path: path).byteCount
            paths.append(path)
        } catch {
            unreadable.append(.init(file: URL(fileURLWithPath: path), error: error))
        }
    }
}
