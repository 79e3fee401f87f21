import CloakroomAWS
import CloakroomCrypto
import CloakroomJSON

/// What credentials allow, under the name by which it is requested.
///
/// Made once, when settings are read; two scopes are equal when they are the same one.
package final class Scope: Sendable {
    package let name: String
    package let policy: SessionPolicy
    /// Of the template with everything but the user in place, 16 hexadecimal digits: another after every change.
    package let digest: String
    /// Whether it lets a user store anything.
    package let writes: Bool

    init(name: String, policy: SessionPolicy) {
        self.name = name
        self.policy = policy
        digest = SHA256.hash(Array(policy.open.utf8)).prefix(8).hexadecimal
        writes = policy.language.statements.contains { statement in
            statement.actions.patterns.contains { $0.matches("s3:putobject") }
        }
    }

    /// For keys that outlive the process, such as those of a shared cache: `full@0123456789abcdef`.
    package var identity: String { "\(name)@\(digest)" }
}

extension Scope: Hashable {
    package static func == (left: Scope, right: Scope) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// All scopes of the settings, and which of them is within which.
package struct Scopes: Sendable {
    /// Why there are none; the name is the scope's.
    enum ScopeError: Error, Equatable {
        case policy(scope: String, SessionPolicyError)
        /// The folders of one lie within the other's folder of the user that is named as the level between.
        case nested(scope: String, folder: String, within: String)
    }

    private let named: [String: Scope]
    /// Where users have their folders in any of them: empty, or ending in `/`; each once.
    package let folders: [String]
    /// For each scope those that allow nothing which it does not allow, itself included.
    private let within: [Scope: Set<Scope>]

    /// - Parameter templates: by name; one with the name of a built-in scope takes its place.
    init(_ template: PolicyTemplate, prefixes: [String], templates: [(name: String, json: JSON)]) throws(ScopeError) {
        var all: [Scope] = []
        let builtIn = BuiltInScope.allCases.map {
            ($0.rawValue, $0.template(prefixes: prefixes, store: template.store, kms: template.kms))
        }
        .filter { name, _ in !templates.contains { $0.name == name } }
        for (name, json) in builtIn + templates.map({ ($0.name, $0.json) }) {
            do throws(SessionPolicyError) {
                all.append(Scope(name: name, policy: try template.policy(from: json)))
            } catch {
                throw .policy(scope: name, error)
            }
        }
        try Self.keepApart(all)
        folders = Set(all.flatMap(\.policy.folders)).sorted()
        named = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
        within = Dictionary(
            uniqueKeysWithValues: all.map { wide in
                (wide, Set(all.filter { $0 === wide || wide.policy.language.covers($0.policy.language) }))
            })
    }

    package subscript(name: String) -> Scope? { named[name] }

    package var names: [String] { named.keys.sorted() }

    /// Whether who may have the one may have the other instead.
    ///
    /// Shown when the settings were read, from the policies themselves; see ``IAMPolicy/covers(_:)``.
    package func covers(_ wide: Scope, _ narrow: Scope) -> Bool { within[wide]?.contains(narrow) == true }

    /// With folders `photos/` and `photos/raw/`, the user `raw` would own every user's raw photos.
    private static func keepApart(_ scopes: [Scope]) throws(ScopeError) {
        let folders = scopes.flatMap { scope in scope.policy.folders.map { (scope: scope.name, folder: $0) } }
        for outer in folders {
            for inner in folders where owner(of: inner.folder, within: outer.folder) != nil {
                throw .nested(scope: inner.scope, folder: inner.folder, within: outer.folder)
            }
        }
    }

    /// - Parameters:
    ///   - inner: where users have folders, empty or ending in `/`; likewise `outer`.
    /// - Returns: who would own all of them; `nil` when no user would.
    static func owner(of inner: String, within outer: String) -> UserID? {
        guard inner.hasPrefix(outer), inner != outer else { return nil }
        return UserID(String(inner.dropFirst(outer.count).prefix { $0 != "/" }))
    }
}

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

/// The placeholders of a template, and what fills those that are the same for all users.
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
        let longest = policy.text(for: Self.longest, in: .longest)
        guard longest.utf8.count <= SessionPolicy.maximumLength else { throw .tooLong(longest.utf8.count) }
        let tags = Grant.tags(for: Self.longest, tier: String(Self.longest.text.suffix(16)))
        let size = PackedSize(policy: longest, tags: tags)
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
