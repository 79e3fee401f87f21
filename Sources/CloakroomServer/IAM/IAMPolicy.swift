import CloakroomJSON

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

extension IAMPolicy {
    /// Whether everything that the other policy allows is allowed by this one, for all requests there could be.
    ///
    /// Shown pattern by pattern: each action on each resource there must lie within one statement here, under no
    /// condition that the other does not set as well. `false` means "not shown": an opposite such as `NotAction`, a
    /// denial here, or a cover of two statements together is beyond it.
    func covers(_ other: IAMPolicy) -> Bool {
        guard statements.allSatisfy(\.isAllow) else { return false }
        return other.statements.filter(\.isAllow).allSatisfy { narrow in
            guard let resources = narrow.resources, !resources.isOpposite, !narrow.actions.isOpposite else {
                return false
            }
            return narrow.actions.patterns.allSatisfy { action in
                resources.patterns.allSatisfy { resource in
                    statements.contains { wide in
                        wide.actions.covers(action) && wide.resources?.covers(resource) == true
                            && wide.principals == nil
                            && wide.conditions.allSatisfy { $0.follows(from: narrow.conditions) }
                    }
                }
            }
        }
    }
}

extension IAMPolicy.Choice {
    fileprivate func covers(_ pattern: IAMPattern) -> Bool {
        !isOpposite && patterns.contains { $0.covers(pattern) }
    }
}

extension IAMCondition {
    /// Whether this holds for every request for which one of those holds.
    fileprivate func follows(from conditions: [IAMCondition]) -> Bool {
        conditions.contains { narrow in
            guard narrow.key == key else { return false }
            if narrow == self { return true }
            // A key held to fewer texts is held to these as well. Only plain tests: `…IfExists` and the quantifiers
            // hold for requests without the key.
            guard case .text(let wildcards) = test.comparison, case .text(let narrowWildcards) = narrow.test.comparison,
                test.isPlain, narrow.test.isPlain
            else { return false }
            return narrow.values.allSatisfy { value in
                values.contains {
                    IAMPattern($0, wildcards: wildcards).covers(IAMPattern(value, wildcards: narrowWildcards))
                }
            }
        }
    }
}

extension IAMCondition.Test {
    fileprivate var isPlain: Bool { !isNegative && quantifier == nil && !ifExists }
}
