import CloakroomAWS
import CloakroomJSON

/// The places a template leaves open, and what fills those that are the same for all users.
package struct PolicyTemplate: Sendable {
    package static let userPlaceholder = "${user}"

    /// As long as an id can be, and no character twice: the hardest to compress.
    private static let longest: UserID = {
        guard let id = UserID("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") else {
            preconditionFailure("64 characters that an id may have")
        }
        return id
    }()

    let bucket: String
    /// As in ARNs: `aws`, `aws-cn`, `aws-us-gov`, …
    let partition: String
    /// Which actions a policy may name.
    var store = ObjectStore.aws
    /// What lets sessions use keys of KMS; `nil` where they must not.
    var kms: KMSStatement?

    /// The policy a template makes, if it gives each user what is theirs and nothing else.
    func policy(from template: JSON) throws(SessionPolicyError) -> SessionPolicy {
        var policy = SessionPolicy(
            try SessionPolicyCheck(bucket: bucket, partition: partition, store: store, kms: kms).checked(
                filled(template)))
        guard policy.longestLength <= SessionPolicy.maximumLength else { throw .tooLong(policy.longestLength) }
        let tags = Grant.tags(for: Self.longest, tier: String(Self.longest.text.suffix(16)))
        let size = PackedSize(policy: policy.text(for: Self.longest), tags: tags)
        guard size.percent <= (kms == nil ? 100 : PackedSize.uncertainPercent) else {
            throw .tooLarge(percent: size.percent)
        }
        policy.packedPercent = size.percent
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
