import Foundation

/// A folder of the test's own, gone when it is; its path is short enough for unix sockets.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        path = "/tmp/cloakroom-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package subscript(name: String) -> String { "\(path)/\(name)" }
}
