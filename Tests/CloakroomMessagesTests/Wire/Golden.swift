import Foundation
import Testing

/// Files beside the tests.
enum Golden {
    struct File: Sendable, CustomTestStringConvertible {
        let name: String
        let data: Data
        var testDescription: String { name }
    }

    /// - Returns: the files of a folder; none when there is no such folder, which a test that has no cases shows.
    static func files(_ folder: String) -> [File] {
        guard let place = Bundle.module.resourceURL?.appendingPathComponent("Golden/\(folder)"),
            let names = try? FileManager.default.contentsOfDirectory(atPath: place.path)
        else { return [] }
        return names.sorted().compactMap { name in
            (try? Data(contentsOf: place.appendingPathComponent(name))).map { File(name: name, data: $0) }
        }
    }
}
