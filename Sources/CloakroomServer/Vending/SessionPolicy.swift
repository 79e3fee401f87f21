package import CloakroomAWS
import CloakroomJSON

/// The session policy of a user's credentials: an IAM policy whose user is still open.
///
/// A session policy only restricts: what the credentials may do is what this and the role both allow
/// (IAM User Guide, "Session policies").
package struct SessionPolicy: Sendable {
    /// What STS takes (AssumeRole, parameter Policy).
    package static let maximumLength = 2048

    /// The policy as IAM reads it; the user is a variable of the name `user`.
    package let language: IAMPolicy
    /// Where users have their folders: empty, or ending in `/`, such as `photos/`; each once.
    package let folders: [String]

    /// With its tags, for the longest id, by the estimate of ``PackedSize``.
    package internal(set) var packedPercent = 0

    /// The encoded JSON, cut at each place where the user's id goes.
    ///
    /// Joining the parts with an id gives the text that a JSON encoder would give for it: the id stands inside JSON
    /// strings, and a ``UserID`` has no character that JSON escapes, nor one that IAM reads (`* ? $ { }`).
    private let parts: [String]
    /// The same, as it stands in the form that goes to STS.
    private let template: FormTemplate

    /// - Parameter checked: what ``SessionPolicyCheck`` let through; its open places are
    ///   ``PolicyTemplate/userPlaceholder``.
    init(_ checked: SessionPolicyCheck.CheckedPolicy) {
        language = checked.language
        folders = checked.folders
        var parts: [String] = []
        let encoded = checked.json.text
        var rest = encoded[...]
        while let place = rest.firstRange(of: PolicyTemplate.userPlaceholder) {
            parts.append(String(rest[..<place.lowerBound]))
            rest = rest[place.upperBound...]
        }
        self.parts = parts + [String(rest)]
        template = FormTemplate(self.parts)
    }

    /// The length for the longest id, in characters.
    var longestLength: Int {
        parts.reduce(0) { $0 + $1.count } + (parts.count - 1) * UserID.maximumLength
    }

    /// The policy, minified.
    package func text(for user: UserID) -> String { parts.joined(separator: user.text) }

    /// The same, as it is sent to STS.
    package func asked(for user: UserID) -> AssumeRole.Policy { AssumeRole.Policy(template, filledWith: user.text) }

    /// The policy with its user open.
    var open: String { parts.joined(separator: PolicyTemplate.userPlaceholder) }
}
