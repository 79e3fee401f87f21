import CloakroomAWS
import CloakroomJSON

/// The scopes that are there without a template of the operator's.
enum BuiltInScope: String, CaseIterable {
    /// Everything a user does with their own objects.
    case full
    /// Looks, and changes nothing.
    case read
    /// Brings new objects, and sees none: for a device that only backs up.
    case upload

    /// What may be done with objects below each user's folder.
    ///
    /// Starting a multipart upload, sending a part and completing it is all `s3:PutObject` (Amazon S3 User Guide,
    /// "Multipart upload API and permissions"); large photos and videos are multipart uploads.
    private var objectActions: [String] {
        let parts = ["AbortMultipartUpload", "ListMultipartUploadParts"]
        return switch self {
        case .full: ["GetObject", "PutObject", "DeleteObject", "RestoreObject", "GetObjectAttributes"] + parts
        case .read: ["GetObject"]
        case .upload: ["PutObject"] + parts
        }
    }

    private var lists: Bool {
        switch self {
        case .full, .read: true
        case .upload: false
        }
    }

    /// - Parameters:
    ///   - prefixes: where each user has a folder; an empty one is the bucket itself.
    ///   - store: which actions there are.
    ///   - kms: `nil` where no object is under a key of KMS.
    func template(prefixes: [String], store: ObjectStore = .aws, kms: KMSStatement? = nil) -> JSON {
        let actions = objectActions.filter { !store.missingActions.contains("s3:\($0)".lowercased()) }
        let folders = prefixes.map { "\(Settings.Vending.folder($0))\(PolicyTemplate.userPlaceholder)/*" }
        var statements = [Self.statement(actions, folders.map { "arn:${partition}:s3:::${bucket}/\($0)" })]
        if lists {
            statements.append(
                Self.statement(
                    ["ListBucket"], ["arn:${partition}:s3:::${bucket}"],
                    condition: ["StringLike": ["s3:prefix": .oneOrMany(folders)]]))
        }
        if let kms { statements.append(kms.statement(writes: self != .read)) }
        return ["Version": .string(IAMPolicy.version), "Statement": .array(statements)]
    }

    private static func statement(_ actions: [String], _ resources: [String], condition: JSON? = nil) -> JSON {
        var members: [(String, JSON)] = [
            ("Effect", .string("Allow")), ("Action", .oneOrMany(actions.map { "s3:\($0)" })),
            ("Resource", .oneOrMany(resources)),
        ]
        if let condition { members.append(("Condition", condition)) }
        return .object(.init(members: members.map { .init(name: $0.0, value: $0.1) }))
    }
}
