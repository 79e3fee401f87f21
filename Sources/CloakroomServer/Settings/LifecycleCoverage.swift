/// Whether some prefixes are for all keys under another.
package struct LifecycleCoverage {
    private let prefixes: [String]

    package init(_ prefixes: [String]) { self.prefixes = prefixes }

    /// - Parameter prefix: what stands before names that begin with hexadecimal digits in lower case, as
    ///   ``AssetNames`` draws them.
    package func covers(_ prefix: String) -> Bool {
        if prefixes.contains(where: prefix.hasPrefix) { return true }
        // Only prefixes longer than it are left, and each round takes one more character of them.
        guard prefixes.contains(where: { $0.hasPrefix(prefix) }) else { return false }
        return "0123456789abcdef".allSatisfy { covers("\(prefix)\($0)") }
    }

    /// The first few of many prefixes, for people.
    package static func list(_ prefixes: [String]) -> String {
        let shown = prefixes.prefix(5).map { $0.isEmpty ? "\"\"" : $0 }.joined(separator: ", ")
        return prefixes.count > 5 ? "\(shown) and \(prefixes.count - 5) more" : shown
    }
}
