import Foundation

/// A file system of 128 KiB, where the system lets us have one: Linux, for root.
struct SmallDisk {
    private let url: URL

    static let isPossible: Bool = {
        guard let folder = try? TemporaryFolder(), let disk = try? SmallDisk(at: folder.url) else { return false }
        disk.unmount()
        return true
    }()

    struct DiskError: Error {}

    init(at url: URL) throws {
        self.url = url
        #if os(Linux)
            guard geteuid() == 0, Self.run("/bin/mount", ["-t", "tmpfs", "-o", "size=128k", "tmpfs", url.path])
            else { throw DiskError() }
        #else
            throw DiskError()
        #endif
    }

    func fill() {
        let file = open(url.appendingPathComponent("full").path, O_WRONLY | O_CREAT, 0o600)
        let block = [UInt8](repeating: 0, count: 4096)
        while write(file, block, block.count) > 0 {}
        close(file)
    }

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
