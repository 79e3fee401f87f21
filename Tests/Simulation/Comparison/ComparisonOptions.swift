import Foundation

/// `simulation --compare STORE --server PLACE --explained FILE [--seed N] [--operations N] [--plant NAME]`: a model against a
/// real server.
struct ComparisonOptions {
    enum Store: String, CaseIterable {
        case redis, seaweedfs, ceph
    }

    let store: Store
    /// The path of a unix socket; for S3 a URL with an empty bucket.
    private(set) var server = ""
    /// A JSON file of ``ExplainedDifferences``.
    private(set) var explained = ""
    private(set) var seed: UInt64 = 1
    private(set) var operations = 10_000
    /// A model that is wrong.
    private(set) var plant: Plant?

    /// - Returns: `nil` for a command line that begins with something else.
    init?(_ arguments: [String]) {
        guard arguments.dropFirst().first == "--compare" else { return nil }
        guard let store = arguments.dropFirst(2).first.flatMap(Store.init) else {
            Self.fail("--compare wants one of \(Store.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self.store = store
        var rest = arguments.dropFirst(3)
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else { Self.fail("\(option) wants a value") }
            switch option {
            case "--server": server = value
            case "--explained": explained = value
            case "--seed": seed = Self.number(value, of: option)
            case "--operations": operations = Self.number(value, of: option)
            case "--plant": plant = Plant(rawValue: value)
            default: Self.fail("unknown option \(option)")
            }
        }
        if server.isEmpty || explained.isEmpty { Self.fail("--compare wants --server and --explained") }
    }

    private static func number<T: FixedWidthInteger>(_ text: String, of option: String) -> T {
        guard let number = T(text) else { fail("\(option) wants a number") }
        return number
    }

    static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("simulation: \(message)\n".utf8))
        exit(2)
    }
}
