package import CloakroomServer

/// What a scope lets one user do, in plain words.
package struct PolicyDescription: Sendable {
    /// One sentence for each kind of thing, such as `read and write objects under photos/u_1/`.
    package let lines: [String]

    package init(_ scope: Scope, user: UserID) {
        lines = scope.policy.language.statements.map { statement in
            let verbs = statement.actions.patterns.map { Self.verb($0.text) }
            let prefixes = statement.conditions.filter { $0.key == "s3:prefix" }.flatMap(\.values)
            let places =
                prefixes.isEmpty
                ? (statement.resources?.patterns ?? []).map { $0.text.split(separator: "/", maxSplits: 1).last ?? "" }
                : prefixes.map { $0[...] }
            let filled = places.map { Self.place(String($0), user) }
            let others = statement.conditions.filter { $0.key != "s3:prefix" }.map(\.key)
            let condition = others.isEmpty ? "" : ", under a condition on \(Self.joined(others))"
            return "\(Self.joined(verbs)) \(Self.joined(filled))\(condition)"
        }
    }

    private static func place(_ pattern: String, _ user: UserID) -> String {
        let text = pattern.replacing(PolicyTemplate.userPlaceholder, with: user.text)
        return text.hasSuffix("/*") && !text.dropLast(2).contains { "*?".contains($0) } ? String(text.dropLast()) : text
    }

    /// `a, b and c`
    private static func joined(_ texts: [String]) -> String {
        guard let last = texts.last, texts.count > 1 else { return texts.first ?? "" }
        return texts.dropLast().joined(separator: ", ") + " and " + last
    }

    private static func verb(_ action: String) -> String {
        switch action {
        case "s3:getobject": "read"
        case "s3:putobject": "write"
        case "s3:deleteobject": "delete"
        case "s3:restoreobject": "restore from the archive"
        case "s3:getobjectattributes": "read sizes and checksums of"
        case "s3:abortmultipartupload": "abandon uploads to"
        case "s3:listmultipartuploadparts": "list the parts of uploads to"
        case "s3:getobjectversion": "read old versions of"
        case "s3:getobjectversionattributes": "read sizes and checksums of old versions of"
        case "s3:deleteobjectversion": "delete old versions of"
        case "s3:getobjecttagging": "read tags of"
        case "s3:putobjecttagging": "set tags of"
        case "s3:deleteobjecttagging": "delete tags of"
        case "s3:listbucket": "list"
        case "kms:decrypt": "have S3 decrypt with"
        case "kms:generatedatakey": "have S3 encrypt with"
        default: action
        }
    }
}
