import CloakroomJSON

/// An IAM policy as IAM reads it: enough of the language to tell what the policies of this package do.
///
/// Anything beyond is refused when it is read, so that a decision is never a guess. Source: IAM User Guide, "IAM JSON
/// policy elements reference" and "Policy evaluation logic".
struct IAMPolicy: Sendable {
    struct Statement: Sendable {
        let isAllow: Bool
        /// ARNs or `*`; `nil` in an identity-based policy.
        let principals: [String]?
        let actions: Choice
        /// `nil` in a trust policy: the role itself.
        let resources: Choice?
        let conditions: [IAMCondition]
    }

    /// The patterns of an element, or of its opposite such as `NotAction`.
    struct Choice: Sendable {
        let patterns: [IAMPattern]
        let isOpposite: Bool
    }

    let statements: [Statement]

    /// An explicit denial wins over everything that allows.
    func decision(on request: IAMRequest) -> IAMDecision {
        let applicable = statements.filter { $0.applies(to: request) }
        if applicable.contains(where: { !$0.isAllow }) { return .denied }
        return applicable.isEmpty ? .notAllowed : .allowed
    }

    func allows(_ request: IAMRequest) -> Bool { decision(on: request) == .allowed }
}

extension IAMPolicy.Statement {
    fileprivate func applies(to request: IAMRequest) -> Bool {
        // IAM compares actions without regard to case.
        guard actions.takes(request.action.lowercased(), context: [:]) else { return false }
        if let resources, !resources.takes(request.resource, context: request.context) { return false }
        if let principals, !principals.contains(where: { $0 == "*" || $0 == request.principal }) { return false }
        return conditions.allSatisfy { $0.holds(in: request.context) }
    }
}

extension IAMPolicy.Choice {
    fileprivate func takes(_ text: String, context: [String: [String]]) -> Bool {
        patterns.contains { $0.filled(from: context)?.matches(text) == true } != isOpposite
    }
}
