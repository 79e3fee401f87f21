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
    /// Without the `/`, one for each.
    private let folderNames: [String]

    /// What each request fills in anew, each once.
    package let requestPlaceholders: [RequestPlaceholder]

    /// With its tags, for the longest id, by the estimate of ``PackedSize``.
    package internal(set) var packedPercent = 0

    /// The encoded JSON, cut at each placeholder of the user's id.
    ///
    /// Joining the parts with an id gives the text that a JSON encoder would give for it: the id stands inside JSON
    /// strings, and a ``UserID`` has no character that JSON escapes, nor one that IAM reads (`* ? $ { }`).
    private let parts: [String]
    /// The same, as it stands in the form that goes to STS.
    private let template: FormTemplate

    /// - Parameter checked: what ``SessionPolicyCheck`` let through; its placeholders are
    ///   ``PolicyTemplate/userPlaceholder``.
    init(_ checked: SessionPolicyCheck.CheckedPolicy) {
        language = checked.language
        folders = checked.folders
        folderNames = folders.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        requestPlaceholders = checked.requestPlaceholders
        var parts: [String] = []
        let encoded = checked.json.text
        var rest = encoded[...]
        while let placeholder = rest.firstRange(of: PolicyTemplate.userPlaceholder) {
            parts.append(String(rest[..<placeholder.lowerBound]))
            rest = rest[placeholder.upperBound...]
        }
        self.parts = parts + [String(rest)]
        template = FormTemplate(self.parts)
    }

    /// The folders of one user by the names of those that hold them: `photos` and `photos/u_1/`. The bucket itself has
    /// an empty name.
    package func prefixes(for user: UserID) -> [String: String] {
        var prefixes: [String: String] = [:]
        prefixes.reserveCapacity(folders.count)
        for (name, folder) in zip(folderNames, folders) { prefixes[name] = "\(folder)\(user.text)/" }
        return prefixes
    }

    /// Whether no two requests have the same policy.
    package var differsByRequest: Bool { !requestPlaceholders.isEmpty }

    /// Whether a request whose client's address is not known cannot be given one.
    package var namesClientAddress: Bool { requestPlaceholders.contains(.clientAddress) }

    /// For how long all of it holds at the most, in seconds; `nil` where it names no such time.
    package var window: Int? {
        requestPlaceholders.compactMap { if case .later(let seconds) = $0 { seconds } else { nil } }.min()
    }

    /// The policy, minified, with what a request fills in still open.
    package func text(for user: UserID) -> String { parts.joined(separator: user.text) }

    /// The same, as it is sent to STS.
    package func asked(for user: UserID) -> AssumeRole.Policy { AssumeRole.Policy(template, filledWith: user.text) }

    /// The policy, minified, for one request.
    package func text(for user: UserID, in circumstances: RequestCircumstances) -> String {
        requestPlaceholders.reduce(text(for: user)) { text, placeholder in
            text.replacing(placeholder.text, with: circumstances.value(of: placeholder))
        }
    }

    /// The policy with its user open.
    var open: String { parts.joined(separator: PolicyTemplate.userPlaceholder) }
}

/// Why a policy template is refused; `path` is such as `Statement[0].Resource[1]`.
enum SessionPolicyError: Error, Sendable, Equatable {
    case notJSON
    /// Not the shape of an IAM policy, or an element that this template may not have.
    case badShape(path: String, expected: String)
    case badValue(path: String, value: String, expected: String)
    case actionRefused(path: String, action: String)
    /// One that the store of the settings does not have.
    case actionMissing(path: String, action: String, store: ObjectStore)
    /// Allows something under a condition that never holds in the store of the settings.
    case conditionMissing(path: String, key: String, store: ObjectStore)
    /// Uses keys of KMS in another way than the built-in scopes do; `nil` where no key may be used.
    case keysRefused(path: String, expected: String?)
    /// Reaches beyond the user's own folder.
    case tooBroad(path: String, value: String)
    case tooLong(Int)
    /// By the estimate of ``PackedSize``.
    case tooLarge(percent: Int)
}

extension SessionPolicyError: CustomStringConvertible {
    /// One line: where and why.
    var description: String {
        switch self {
        case .notJSON: "is not JSON"
        case .badShape(let path, let expected): "has at \(path) something other than \(expected)"
        case .badValue(let path, let value, _): "has \(value) at \(path)"
        case .actionRefused(let path, let action): "allows \(action) at \(path)"
        case .actionMissing(let path, let action, let store):
            "allows \(action) at \(path), which \(store.name) does not have"
        case .conditionMissing(let path, let key, let store):
            "asks at \(path) for \(key), which no request to \(store.name) has"
        case .keysRefused(let path, _): "uses keys of KMS at \(path) in a way of its own"
        case .tooBroad(let path, let value): "reaches beyond the user's own folder with \(value) at \(path)"
        case .tooLong(let length): "is \(length) characters long for the longest user id"
        case .tooLarge(let percent): "takes about \(percent) % of what STS can pack, for the longest user id"
        }
    }

    var remedy: String {
        switch self {
        case .notJSON: "write an IAM policy as JSON, each name once, without comments"
        case .badShape: "write Version 2012-10-17 and statements of Effect, Action, Resource and Condition"
        case .badValue(_, _, let expected): "give \(expected)"
        case .actionRefused: "leave it out; a session may read, write, delete and restore objects and list"
        case .actionMissing: "leave it out, or correct vending.store"
        case .conditionMissing: "leave it out: nothing would be allowed; or correct vending.store"
        case .keysRefused(_, let expected?): "take it out, or write \(expected)"
        case .keysRefused(_, nil): "take it out, or name the keys in vending.kmsKeyARNs"
        case .tooBroad:
            "confine it to ${bucket} and a folder ${user}/, with nothing but plain names before it"
        case .tooLarge: "name fewer actions and resources"
        case .tooLong: "shorten it to \(SessionPolicy.maximumLength), STS takes no more"
        }
    }
}

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
