/// The variables that AWS's SDKs read, as they were when the process started. Prints none of their values.
package struct AWSEnvironment: Sendable, CustomStringConvertible, CustomReflectable {
    private let variables: [String: String]

    /// - Parameter variables: the whole environment; only what is AWS's, and `HOME`, is kept.
    package init(_ variables: [String: String] = [:]) {
        self.variables = variables.filter { $0.key.hasPrefix("AWS_") || $0.key == "HOME" }
    }

    /// `nil` for a variable that is empty, too: so the SDKs take it.
    package subscript(name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// Whether a variable says `true`, in whatever case.
    func isTrue(_ name: String) -> Bool { self[name]?.lowercased() == "true" }

    package var description: String { "AWSEnvironment(\(variables.keys.sorted().joined(separator: ", ")))" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
