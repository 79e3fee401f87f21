import CloakroomServer

/// What to type next for a finding: the command that helps, or after the change the same check again.
package struct NextCommands: Sendable, Equatable {
    private let settingsFile: String
    private let again: String

    /// - Parameter doctor: the words of the doctor's command line, but for those that choose checks and the output.
    package init(settingsFile: String, doctor: [String]) {
        self.settingsFile = Self.quoted(settingsFile)
        again = doctor.map(Self.quoted).joined(separator: " ")
    }

    /// - Returns: `nil` where nothing is wrong.
    func next(_ finding: Finding) -> String? {
        guard finding.level == .warning || finding.level == .error else { return nil }
        return finding.command?.replacing("FILE", with: settingsFile) ?? "\(again) --only \(finding.check.rawValue)"
    }

    private static let plain: ASCIIClass = "A-Za-z0-9/._+,:=@%-"

    /// For a shell (POSIX, "Shell Command Language", §2.2.2).
    package static func quoted(_ word: String) -> String {
        plain.holdsAll(of: word) ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }
}
