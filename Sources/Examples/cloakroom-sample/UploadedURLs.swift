import CloakroomKit
import Foundation

/// The URLs of the images that were uploaded, one a line: what an app has in its database.
struct UploadedURLs {
    private let file: URL

    init(_ folder: URL) { file = folder.appendingPathComponent("uploaded.txt") }

    func add(_ url: URL) throws {
        let known = try urls().map(\.absoluteString)
        let lines = (known + [url.absoluteString, ""]).joined(separator: "\n")
        try lines.write(to: file, atomically: true, encoding: .utf8)
    }

    func urls() throws -> [URL] {
        FileManager.default.fileExists(atPath: file.path) ? try Self.urls(in: file) : []
    }

    static func urls(in file: URL) throws -> [URL] {
        try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isNewline).map {
            guard let url = URL(string: String($0)) else { throw UsageError("\($0) is no URL") }
            return url
        }
    }
}
