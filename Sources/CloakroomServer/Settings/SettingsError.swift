/// What is wrong with a settings file, where, and what to do about it.
package struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Such as `tokens.issuers[0].secret`; empty for the file as a whole.
    package let path: String
    package let cause: String
    package let remedy: String

    init(_ path: String, _ cause: String, _ remedy: String) {
        self.path = path
        self.cause = cause
        self.remedy = remedy
    }

    package var description: String { (path.isEmpty ? "" : "\(path): ") + "\(cause); \(remedy)" }
}

/// All that is wrong, in the order of the table.
package struct SettingsErrors: Error, Sendable, Equatable, CustomStringConvertible {
    package let faults: [SettingsError]

    package var description: String { faults.map(\.description).joined(separator: "\n") }
}
