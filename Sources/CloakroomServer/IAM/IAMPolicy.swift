/// An IAM policy as IAM reads it: enough of the language to tell what the policies of this package do.
///
/// Anything beyond is refused when it is read, so that a decision is never a guess. Source: IAM User Guide, "IAM JSON
/// policy elements reference" and "Policy evaluation logic".
package struct IAMPolicy: Sendable {
    package struct Statement: Sendable {
        package let isAllow: Bool
        /// ARNs or `*`; `nil` in an identity-based policy.
        package let principals: [String]?
        package let actions: Choice
        /// `nil` in a trust policy: the role itself.
        package let resources: Choice?
        package let conditions: [IAMCondition]
    }

    /// The patterns of an element, or of its opposite such as `NotAction`.
    package struct Choice: Sendable {
        package let patterns: [IAMPattern]
        package let isOpposite: Bool
    }

    package let statements: [Statement]
}
