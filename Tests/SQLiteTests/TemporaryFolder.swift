import Foundation

/// A folder that goes when nobody holds it any longer.
final class TemporaryFolder: Sendable {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    init() { try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }
}
