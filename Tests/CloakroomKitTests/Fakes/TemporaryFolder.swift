import Foundation

/// A folder that is removed when it is let go.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-kit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Writes a file, with the folders above it, and makes it look an hour old.
    @discardableResult
    func write(_ name: String, _ content: Data, age: TimeInterval = 3600) throws -> URL {
        let file = url.appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try content.write(to: file)
        try FileManager.default.setAttributes(
            [.modificationDate: Date().addingTimeInterval(-age)], ofItemAtPath: file.path)
        return file
    }

    @discardableResult
    func write(_ name: String, _ content: String) throws -> URL { try write(name, Data(content.utf8)) }
}
