import CloakroomWire

/// What the `RoleArn` of a request names.
enum WebIdentityRole: Equatable {
    /// None, or the role of the settings: all that the user's tier allows.
    case whole
    /// `…:role/SCOPE` of a partition and account of the settings.
    case scope(String)
    /// A role of others, or one that is none of ours.
    case foreign
    /// No ARN of a role.
    case malformed

    /// - Parameter roles: those of the settings; a scope of the same name as one of them is not reached by it.
    init(_ arn: String, among roles: SessionRoles) {
        if arn.isEmpty || roles.active.contains(where: { $0.arn == arn }) {
            self = .whole
            return
        }
        // arn:PARTITION:iam::ACCOUNT:role/NAME
        let mark = ":role/"
        guard arn.hasPrefix("arn:"), let start = arn.firstRange(of: mark)?.upperBound, start < arn.endIndex else {
            self = .malformed
            return
        }
        let account = arn[..<start]
        guard roles.active.contains(where: { $0.arn.hasPrefix(account) }) else {
            self = .foreign
            return
        }
        self = .scope(String(arn[start...]))
    }
}
