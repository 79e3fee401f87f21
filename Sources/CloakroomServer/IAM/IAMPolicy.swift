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
}
