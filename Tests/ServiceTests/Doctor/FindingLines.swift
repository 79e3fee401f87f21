@testable import CloakroomOperations
@testable import CloakroomServer

extension [Finding] {
    /// What a test compares: `error: found`, and that whatever is wrong says why, and what to do.
    var lines: [String] {
        map { finding in
            let isWrong = finding.level == .error || finding.level == .warning
            let isWhole = !isWrong || (finding.why?.isEmpty == false && finding.advice?.isEmpty == false)
            return "\(finding.level.rawValue): \(finding.found)" + (isWhole ? "" : " (says not why, or not what to do)")
        }
    }
}
