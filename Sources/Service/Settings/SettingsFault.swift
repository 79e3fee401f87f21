/// What is wrong with a settings file, where, and what to do about it.
package struct SettingsFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// Such as `tokens.issuers[0].secret`; empty for the file as a whole.
    package let path: String
    package let cause: String
    package let wayOut: String

    init(_ path: String, _ cause: String, _ wayOut: String) {
        self.path = path
        self.cause = cause
        self.wayOut = wayOut
    }

    package var description: String { (path.isEmpty ? "" : "\(path): ") + "\(cause); \(wayOut)" }
}

/// All that is wrong, in the order of the table.
package struct SettingsFaults: Error, Sendable, Equatable, CustomStringConvertible {
    package let faults: [SettingsFault]

    package var description: String { faults.map(\.description).joined(separator: "\n") }
}
