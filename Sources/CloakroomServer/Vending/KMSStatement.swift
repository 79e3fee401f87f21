import CloakroomAWS
import CloakroomJSON

/// The statement that lets a user's session use keys of KMS, through S3 and for objects of the bucket alone.
///
/// S3 calls KMS on behalf of the caller: without the statement, uploads and downloads in a bucket under SSE-KMS are
/// `AccessDenied`. Parts of a multipart upload need `kms:Decrypt` as well as `kms:GenerateDataKey`.
/// Sources: Amazon S3 User Guide, "Using server-side encryption with AWS KMS keys"; AWS KMS Developer Guide,
/// "kms:ViaService" and "kms:EncryptionContext:context-key".
struct KMSStatement: Sendable {
    /// ARNs of keys, at least one.
    let keys: [String]
    let bucket: String
    let partition: String
    let region: String

    private static let reading = ["kms:Decrypt"]
    private static let writing = ["kms:Decrypt", "kms:GenerateDataKey"]

    func statement(writes: Bool) -> JSON {
        [
            "Effect": .string("Allow"), "Action": .oneOrMany(writes ? Self.writing : Self.reading),
            "Resource": .oneOrMany(keys), "Condition": condition,
        ]
    }

    /// With a bucket key, the encryption context is the bucket's ARN, else the object's. One operator for both keys: STS
    /// has little room for policies.
    private var condition: JSON {
        let bucketARN = "arn:\(partition):s3:::\(bucket)"
        let service = "s3.\(region).\(Partition(region: region).suffix)"
        return [
            "StringLike": [
                "kms:ViaService": .string(service),
                "kms:EncryptionContext:aws:s3:arn": .array([.string(bucketARN), .string("\(bucketARN)/*")]),
            ]
        ]
    }

    /// Whether a statement of a template is this one, for some or all of the keys.
    ///
    /// - Parameter statement: as IAM reads it.
    func allows(_ statement: IAMPolicy.Statement) -> Bool {
        guard statement.isAllow, statement.principals == nil, !statement.actions.isOpposite,
            let resources = statement.resources, !resources.isOpposite,
            let own = try? IAMPolicy(
                ["Version": .string(IAMPolicy.version), "Statement": .array([self.statement(writes: true)])]
            ).statements.first, statement.conditions.count == own.conditions.count
        else { return false }
        let actions = statement.actions.patterns.map(\.text)
        return (actions == ["kms:decrypt"] || Set(actions) == ["kms:decrypt", "kms:generatedatakey"])
            && resources.patterns.allSatisfy { keys.contains($0.text) }
            && own.conditions.allSatisfy { condition in
                statement.conditions.contains {
                    $0.test == condition.test && $0.key == condition.key
                        && $0.values.sorted() == condition.values.sorted()
                }
            }
    }
}

extension JSON {
    /// The shorter way to write a list of one.
    static func oneOrMany(_ texts: [String]) -> JSON {
        texts.count == 1 ? .string(texts[0]) : .array(texts.map(JSON.string))
    }
}
