import StrictJSON

/// The places a template leaves open, and what fills those that are the same for all users.
struct PolicyTemplate: Sendable {
    static let userPlaceholder = "${user}"

    let bucket: String
    /// As in ARNs: `aws`, `aws-cn`, `aws-us-gov`, …
    let partition: String

    /// Objects below each user's folder under these prefixes, and listing of just these.
    ///
    /// Multipart actions are there because large photos and videos are uploaded in parts.
    func builtIn(prefixes: [String]) -> JSON {
        let objects = ["GetObject", "PutObject", "DeleteObject", "RestoreObject", "GetObjectAttributes"]
        let parts = ["AbortMultipartUpload", "ListMultipartUploadParts"]
        let folders = prefixes.map { "\($0)/${user}/*" }
        return [
            "Version": .string(SessionPolicyCheck.version),
            "Statement": .array([
                .object([
                    "Effect": .string("Allow"),
                    "Action": .array((objects + parts).map { .string("s3:\($0)") }),
                    "Resource": .array(folders.map { .string("arn:${partition}:s3:::${bucket}/\($0)") }),
                ]),
                .object([
                    "Effect": .string("Allow"),
                    "Action": .string("s3:ListBucket"),
                    "Resource": .string("arn:${partition}:s3:::${bucket}"),
                    "Condition": ["StringLike": ["s3:prefix": .array(folders.map(JSON.string))]],
                ]),
            ]),
        ]
    }

    /// The policy a template makes, if it gives each user what is theirs and nothing else.
    func policy(from template: JSON) throws(SessionPolicyError) -> SessionPolicy {
        let filled = filled(template)
        let checked = try SessionPolicyCheck(bucket: bucket, partition: partition).checked(filled)
        let policy = SessionPolicy(encoded: checked.text)
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
