import CloakroomJSON

/// Why a text is no policy that we read; `path` is such as `Statement[0].Resource`.
struct IAMPolicyError: Error, Sendable, Equatable {
    let path: String
    let expected: String
}

extension IAMPolicy {
    static let version = "2012-10-17"

    init(_ json: JSON) throws(IAMPolicyError) {
        guard let policy = json.object else { throw IAMPolicyError(path: "the top", expected: "an object") }
        try Self.allow(["Version", "Id", "Statement"], in: policy, at: "the top")
        // Before this version, variables were plain text.
        guard policy["Version"]?.string == Self.version else {
            throw IAMPolicyError(path: "Version", expected: Self.version)
        }
        let members = policy["Statement"].map { $0.array ?? [$0] } ?? []
        guard !members.isEmpty else { throw IAMPolicyError(path: "Statement", expected: "a statement") }
        var statements: [Statement] = []
        for (index, member) in members.enumerated() {
            statements.append(try Self.statement(member, at: "Statement[\(index)]"))
        }
        self.statements = statements
    }

    private static func statement(_ json: JSON, at path: String) throws(IAMPolicyError) -> Statement {
        guard let statement = json.object else { throw IAMPolicyError(path: path, expected: "an object") }
        try allow(
            ["Sid", "Effect", "Principal", "Action", "NotAction", "Resource", "NotResource", "Condition"],
            in: statement, at: path)
        let effect = statement["Effect"]?.string
        guard effect == "Allow" || effect == "Deny" else {
            throw IAMPolicyError(path: "\(path).Effect", expected: "Allow or Deny")
        }
        guard let actions = try choice("Action", in: statement, at: path) else {
            throw IAMPolicyError(path: "\(path).Action", expected: "an action")
        }
        let principals = try principals(statement["Principal"], at: "\(path).Principal")
        let resources = try choice("Resource", in: statement, at: path)
        guard resources != nil || principals != nil else {
            throw IAMPolicyError(path: "\(path).Resource", expected: "a resource")
        }
        return Statement(
            isAllow: effect == "Allow", principals: principals, actions: actions, resources: resources,
            conditions: try conditions(statement["Condition"], at: "\(path).Condition"))
    }

    private static func choice(
        _ name: String, in statement: JSON.Object, at path: String
    ) throws(IAMPolicyError) -> Choice? {
        let (element, opposite) = (statement[name], statement["Not\(name)"])
        guard let json = element ?? opposite else { return nil }
        guard element == nil || opposite == nil else {
            throw IAMPolicyError(path: "\(path).Not\(name)", expected: "one of \(name) and Not\(name)")
        }
        let isAction = name == "Action"
        let patterns = try texts(json, at: "\(path).\(name)").map { text in
            IAMPattern(isAction ? text.lowercased() : text, variables: !isAction)
        }
        return Choice(patterns: patterns, isOpposite: opposite != nil)
    }

    /// `{"AWS": …}` or `*`; services and federations have no part in this package.
    private static func principals(_ json: JSON?, at path: String) throws(IAMPolicyError) -> [String]? {
        guard let json else { return nil }
        if json.string == "*" { return ["*"] }
        guard let object = json.object, object.members.count == 1, let list = object["AWS"] else {
            throw IAMPolicyError(path: path, expected: "an object of AWS and ARNs")
        }
        return try texts(list, at: "\(path).AWS")
    }

    private static func conditions(_ json: JSON?, at path: String) throws(IAMPolicyError) -> [IAMCondition] {
        guard let json else { return [] }
        guard let operators = json.object else { throw IAMPolicyError(path: path, expected: "an object") }
        var conditions: [IAMCondition] = []
        for entry in operators.members {
            let path = "\(path).\(entry.name)"
            guard let test = IAMCondition.Test(entry.name) else {
                throw IAMPolicyError(path: path, expected: "a condition operator")
            }
            guard let keys = entry.value.object, !keys.members.isEmpty else {
                throw IAMPolicyError(path: path, expected: "an object of condition keys")
            }
            for key in keys.members {
                conditions.append(
                    IAMCondition(
                        test: test, key: key.name.lowercased(), values: try texts(key.value, at: "\(path).\(key.name)")
                    ))
            }
        }
        return conditions
    }

    private static func allow(_ names: [String], in object: JSON.Object, at path: String) throws(IAMPolicyError) {
        for member in object.members where !names.contains(where: member.name.hasSameBytes) {
            throw IAMPolicyError(path: "\(path).\(member.name)", expected: names.joined(separator: ", "))
        }
    }

    private static func texts(_ json: JSON, at path: String) throws(IAMPolicyError) -> [String] {
        let texts = json.string.map { [$0] } ?? json.strings ?? []
        guard !texts.isEmpty else { throw IAMPolicyError(path: path, expected: "a string or an array of strings") }
        return texts
    }
}
