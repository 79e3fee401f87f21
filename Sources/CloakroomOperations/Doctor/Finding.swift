package import CloakroomAWS

/// What one check found.
package struct Finding: Sendable, Equatable {
    package enum Level: String, Sendable, CaseIterable {
        case ok
        /// Could not be looked at, or was not to be.
        case skipped
        /// Works, and should be better.
        case warning
        /// Does not work, or is not safe.
        case error
    }

    package let check: CheckName
    package let level: Level
    /// A sentence without a full stop.
    package let found: String
    /// Why it matters; `nil` where nothing is wrong.
    package let why: String?
    /// What to do about it.
    package let advice: String?
    /// The command that helps with it, with `FILE` for the settings file; `nil` for the check itself, once more.
    let command: String?

    init(
        _ check: CheckName, _ level: Level, _ found: String, _ why: String?, _ advice: String?, command: String? = nil
    ) {
        self.check = check
        self.level = level
        self.found = found
        self.why = why
        self.advice = advice
        self.command = command
    }

    /// The same of one of several servers.
    func named(_ server: String) -> Finding {
        Finding(check, level, "\(server): \(found)", why, advice, command: command)
    }
}

extension AWSError {
    /// For a sentence: `AccessDenied (403)`, or what happened when no response came.
    package var words: String { status > 0 ? "\(code) (\(status))" : code }
}
