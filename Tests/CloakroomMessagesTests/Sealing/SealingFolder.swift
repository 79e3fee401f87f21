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

/// A file system of some size, where the system lets us have one: Linux, for root.
struct SealingDisk {
    let url: URL

    static let isPossible: Bool = {
        guard let folder = try? SealingFolder(), let disk = try? SealingDisk(at: folder.url, kibibytes: 64) else {
            return false
        }
        disk.unmount()
        return true
    }()

    struct DiskError: Error {}

    init(at url: URL, kibibytes: Int) throws {
        self.url = url
        #if os(Linux)
            let options = ["-t", "tmpfs", "-o", "size=\(kibibytes)k", "tmpfs", url.path]
            guard geteuid() == 0, Self.run("/bin/mount", options) else { throw DiskError() }
        #else
            throw DiskError()
        #endif
    }

    /// Uses all space.
    func fill() {
        let file = open(url.appendingPathComponent("full").path, O_WRONLY | O_CREAT, 0o600)
        let block = [UInt8](repeating: 0, count: 4096)
        while write(file, block, block.count) > 0 {}
        close(file)
    }

    func empty() throws { try FileManager.default.removeItem(at: url.appendingPathComponent("full")) }

    func unmount() { _ = Self.run("/bin/umount", [url.path]) }

    private static func run(_ path: String, _ arguments: [String]) -> Bool {
        #if os(Linux) || os(macOS)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = arguments
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        #else
            return false
        #endif
    }
}
