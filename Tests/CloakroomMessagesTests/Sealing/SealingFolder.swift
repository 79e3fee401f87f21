import Foundation
import Testing

/// A folder that is removed when it is let go.
final class SealingFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("cloakroom-sealing-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func content(_ name: String) -> Data? { FileManager.default.contents(atPath: path(name)) }

    func put(_ content: Data, at name: String, mode: Int = 0o600) {
        #expect(
            FileManager.default.createFile(
                atPath: path(name), contents: content, attributes: [.posixPermissions: mode]))
    }

    func mode(_ name: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path(name))[.posixPermissions] as? Int)
    }

    func names(in folder: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(folder)).sorted()
    }
}
