package import Foundation

/// Why a program that measures could not.
package struct BenchError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The scenario, its folder, and values by their names.
package struct Arguments: Sendable {
    package let scenario: String
    package let folder: URL
    private var values: [String: String] = [:]

    package init(_ words: [String]) throws {
        guard words.count >= 2 else { throw BenchError("a scenario and a folder are missing; see --help") }
        scenario = words[0]
        folder = URL(fileURLWithPath: words[1], isDirectory: true)
        for word in words.dropFirst(2) {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw BenchError("\(word) is not NAME=VALUE") }
            values[parts[0]] = parts[1]
        }
    }

    package func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw BenchError("\(name)= is missing") }
        return value
    }

    package func number(_ name: String) throws -> Int {
        guard let number = Int(try text(name)) else { throw BenchError("\(name) is no number") }
        return number
    }

    package func has(_ name: String) -> Bool { values[name] != nil }
}
