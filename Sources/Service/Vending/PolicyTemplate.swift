import StrictJSON

/// The places a template leaves open, and what fills those that are the same for all users.
struct PolicyTemplate: Sendable {
    static let userPlaceholder = "${user}"

    let bucket: String
    /// As in ARNs: `aws`, `aws-cn`, `aws-us-gov`, …
    let partition: String

    /// The policy a template makes, if it gives each user what is theirs and nothing else.
    func policy(from template: JSON) throws(SessionPolicyError) -> SessionPolicy {
        let policy = SessionPolicy(
            try SessionPolicyCheck(bucket: bucket, partition: partition).checked(filled(template)))
        guard policy.longestLength <= SessionPolicy.maximumLength else { throw .tooLong(policy.longestLength) }
        return policy
    }

    /// The template with bucket and partition in place, in every string that is a value.
    private func filled(_ json: JSON) -> JSON {
        switch json {
        case .null, .bool, .number: json
        case .string(let text):
            .string(
                text.replacing("${bucket}", with: bucket).replacing("${partition}", with: partition))
        case .array(let elements): .array(elements.map(filled))
        case .object(let object): .object(object.mapValues(filled))
        }
    }
}
