import CloakroomAWS
import CloakroomJSON

/// Refuses every policy that could give a user more than objects below a folder of their own.
///
/// What it does not know, it refuses: IAM grows, and a new element must not slip through.
struct SessionPolicyCheck: Sendable {
    /// A policy that keeps each user to their own.
    struct CheckedPolicy {
        let json: JSON
        let language: IAMPolicy
        /// See ``SessionPolicy/folders``.
        let folders: [String]
        /// See ``SessionPolicy/requestPlaceholders``.
        let requestPlaceholders: [RequestPlaceholder]
    }

    /// What statements name, each once.
    private struct Names {
        private(set) var folders: [String] = []
        private(set) var placeholders: [RequestPlaceholder] = []

        mutating func add(_ folder: String) { if !folders.contains(folder) { folders.append(folder) } }

        mutating func add(_ placeholder: RequestPlaceholder) {
            if !placeholders.contains(placeholder) { placeholders.append(placeholder) }
        }
    }

    /// Lower case: IAM compares actions without regard to case. `PutObjectAcl` is missing because it can publish.
    private static let objectActions: Set<String> = [
        "s3:getobject", "s3:putobject", "s3:deleteobject", "s3:restoreobject", "s3:getobjectattributes",
        "s3:abortmultipartupload", "s3:listmultipartuploadparts",
        "s3:getobjectversion", "s3:getobjectversionattributes", "s3:deleteobjectversion",
        "s3:getobjecttagging", "s3:putobjecttagging", "s3:deleteobjecttagging",
    ]
    private static let listAction = "s3:listbucket"

    let bucket: String
    let partition: String
    let store: ObjectStore
    var kms: KMSStatement?

    private var bucketARN: String { "arn:\(partition):s3:::\(bucket)" }

    /// - Returns: the policy without `Sid` and `Id`, which only cost length.
    func checked(_ policy: JSON) throws(SessionPolicyError) -> CheckedPolicy {
        let language: IAMPolicy
        do throws(IAMPolicyError) { language = try IAMPolicy(policy) } catch {
            throw .badShape(path: error.path, expected: error.expected)
        }
        var statements: [JSON] = []
        var names = Names()
        let members = policy.object?["Statement"].map { $0.array ?? [$0] } ?? []
        for (index, statement) in members.enumerated() {
            let path = "Statement[\(index)]"
            let read = language.statements[index]
            statements.append(
                read.actions.patterns.contains { $0.text.hasPrefix("kms:") }
                    ? try checked(statement, usingKeys: read, at: path)
                    : try checked(statement: statement, at: path, &names))
        }
        return CheckedPolicy(
            json: ["Version": .string(IAMPolicy.version), "Statement": .array(statements)], language: language,
            folders: names.folders, requestPlaceholders: names.placeholders)
    }

    /// Only the statement that the built-in scopes have.
    private func checked(
        _ statement: JSON, usingKeys read: IAMPolicy.Statement, at path: String
    ) throws(SessionPolicyError) -> JSON {
        guard let kms, kms.allows(read), let object = statement.object else {
            throw .keysRefused(path: path, expected: kms?.statement(writes: true).text)
        }
        return .object(object.filter { $0 != "Sid" })
    }

    private func checked(
        statement: JSON, at path: String, _ names: inout Names
    ) throws(SessionPolicyError) -> JSON {
        guard let statement = statement.object else { throw .badShape(path: path, expected: "an object") }
        try allow(["Sid", "Effect", "Action", "Resource", "Condition"], in: statement, at: path)
        guard statement["Effect"]?.string == "Allow" else {
            throw .badShape(path: "\(path).Effect", expected: "Allow")
        }
        let actions = try texts(statement["Action"], at: "\(path).Action").map { $0.lowercased() }
        let resources = try texts(statement["Resource"], at: "\(path).Resource")
        let confinesPrefix = try checkedCondition(statement["Condition"], at: "\(path).Condition", &names)
        if actions == [Self.listAction] {
            for resource in resources where resource != bucketARN {
                throw .tooBroad(path: "\(path).Resource", value: resource)
            }
            guard confinesPrefix else { throw .tooBroad(path: "\(path).Condition", value: "s3:ListBucket") }
        } else {
            for action in actions where !Self.objectActions.contains(action) {
                throw .actionRefused(path: "\(path).Action", action: action)
            }
            for action in actions where store.missingActions.contains(action) {
                throw .actionMissing(path: "\(path).Action", action: action, store: store)
            }
            for resource in resources {
                let key = resource.hasPrefix(bucketARN + "/") ? resource.dropFirst(bucketARN.count + 1) : ""
                guard let folder = Self.folder(of: key) else {
                    throw .tooBroad(path: "\(path).Resource", value: resource)
                }
                names.add(folder)
            }
        }
        return .object(statement.filter { $0 != "Sid" })
    }

    /// Whether the list's prefix is held to the user's folder.
    private func checkedCondition(
        _ condition: JSON?, at path: String, _ names: inout Names
    ) throws(SessionPolicyError) -> Bool {
        var confinesPrefix = false
        for entry in condition?.object?.members ?? [] {
            let path = "\(path).\(entry.name)"
            for key in entry.value.object?.members ?? [] {
                let path = "\(path).\(key.name)"
                let values = try texts(key.value, at: path)
                guard !key.name.contains("$") else { throw .tooBroad(path: path, value: key.name) }
                guard key.name.lowercased() == "s3:prefix" else {
                    try checkValues(values, of: key.name.lowercased(), under: entry.name, at: path, &names)
                    continue
                }
                // "…IfExists" and the set operators hold for a request without the key: a list of everything.
                guard ["StringLike", "StringEquals"].contains(entry.name) else {
                    throw .badShape(path: path, expected: "StringLike or StringEquals")
                }
                for value in values {
                    guard let folder = Self.folder(of: value[...]) else { throw .tooBroad(path: path, value: value) }
                    names.add(folder)
                }
                confinesPrefix = true
            }
        }
        return confinesPrefix
    }

    /// Further conditions only narrow. A variable in one could stand for another user: but for ours, none is taken.
    ///
    /// - Parameter key: in lower case.
    private func checkValues(
        _ values: [String], of key: String, under operation: String, at path: String, _ names: inout Names
    ) throws(SessionPolicyError) {
        guard !store.missingConditionKeys.contains(key) else {
            throw .conditionMissing(path: path, key: key, store: store)
        }
        let comparison = IAMCondition.Test(operation)?.comparison
        for value in values {
            if let placeholder = RequestPlaceholder(value), placeholder.isAllowed(under: operation, on: key) {
                // IAM takes a request that fits any value of a key (IAM User Guide, "Conditions with multiple values").
                guard values.count == 1 else {
                    throw .badValue(
                        path: path, value: "\(value) beside other values",
                        expected: "it alone: IAM allows what fits any value of a key")
                }
                names.add(placeholder)
                continue
            }
            guard !value.contains("${") else {
                throw ["clientAddress", "now"].contains(where: value.contains)
                    ? .badValue(path: path, value: value, expected: RequestPlaceholder.rules)
                    : .tooBroad(path: path, value: value)
            }
            // STS would refuse it with every request.
            if comparison == .address, IPNetwork(value) == nil {
                throw .badValue(path: path, value: value, expected: "an address or a network such as 203.0.113.0/24")
            }
            if case .date = comparison, IAMCondition.date(value) == nil {
                throw .badValue(path: path, value: value, expected: "a time such as 2027-01-31T12:00:00Z")
            }
        }
    }

    /// Where the users' folders are that a key pattern stays in: it must be plain names, then `${user}/`, then anything
    /// but a variable.
    ///
    /// A wildcard before the user's folder would match in another user's: `*/u_1/*` matches `photos/u_2/u_1/x`.
    ///
    /// - Returns: empty, or ending in `/`; `nil` for a pattern that reaches further than one user's folder.
    private static func folder(of pattern: Substring) -> String? {
        let segments = pattern.split(separator: "/", omittingEmptySubsequences: false)
        guard let user = segments.firstIndex(where: { $0 == PolicyTemplate.userPlaceholder }),
            user < segments.endIndex - 1, segments[..<user].allSatisfy(isPlainName),
            !segments[(user + 1)...].contains(where: { $0.contains("${") && $0 != PolicyTemplate.userPlaceholder })
        else { return nil }
        return segments[..<user].map { $0 + "/" }.joined()
    }

    static func isPlainName(_ segment: Substring) -> Bool {
        !segment.isEmpty && segment != "." && segment != ".."
            && segment.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    private func allow(_ names: [String], in object: JSON.Object, at path: String) throws(SessionPolicyError) {
        for member in object.members where !names.contains(where: member.name.hasSameBytes) {
            throw .badShape(path: "\(path).\(member.name)", expected: names.joined(separator: ", "))
        }
    }

    /// One string or an array of them: printable ASCII, of which STS takes all.
    private func texts(_ value: JSON?, at path: String) throws(SessionPolicyError) -> [String] {
        let texts = value?.string.map { [$0] } ?? value?.strings ?? []
        guard !texts.isEmpty, texts.allSatisfy({ $0.utf8.allSatisfy { (0x20..<0x7F).contains($0) } }) else {
            throw .badShape(path: path, expected: "a string or an array of strings, in ASCII")
        }
        return texts
    }
}
