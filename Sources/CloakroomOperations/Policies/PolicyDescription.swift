package import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a session lets one user do, in plain words.
package struct PolicyDescription: Sendable {
    /// One sentence for each kind of thing, such as `read and write objects under photos/u_1/`.
    package let lines: [String]

    package init(_ grant: Grant, user: UserID) {
        let scope = grant.scope.policy.language.statements
        // The scope's own with its placeholders open; behind them in a session's policy is what others share.
        let shared = grant.session(of: user, at: Date()).statements.dropFirst(scope.count)
        lines = (scope + shared).map { statement in
            let verbs = statement.actions.patterns.map { Self.verb($0.text) }
            let prefixes = statement.conditions.filter { $0.key == "s3:prefix" }.flatMap(\.values)
            let places =
                prefixes.isEmpty
                ? (statement.resources?.patterns ?? []).map { $0.text.split(separator: "/", maxSplits: 1).last ?? "" }
                : prefixes.map { $0[...] }
            let filled = places.map { Self.place(String($0), user) }
            let others = statement.conditions.filter { $0.key != "s3:prefix" }.map { " \(Self.words($0))" }
            return "\(Self.joined(verbs)) \(Self.joined(filled))\(others.joined())"
        }
    }

    private static func words(_ condition: IAMCondition) -> String {
        // One value that fits is enough; with `Not…` none may fit.
        let values = joined(condition.values.map { value($0) }, by: condition.test.isNegative ? "and" : "or")
        return switch (condition.key, condition.test.comparison, condition.test.isNegative) {
        case ("aws:currenttime", .date(.less), false), ("aws:currenttime", .date(.lessOrEqual), false):
            "until \(values)"
        case ("aws:currenttime", .date(.greater), false), ("aws:currenttime", .date(.greaterOrEqual), false):
            "after \(values)"
        case ("aws:sourceip", .address, false): "from \(values)"
        case ("aws:sourceip", .address, true): "from anywhere but \(values)"
        default: "under a condition on \(condition.key)"
        }
    }

    private static func value(_ text: String) -> String {
        switch RequestPlaceholder(text) {
        case .clientAddress: "the address that asks for the credentials"
        case .later(let seconds): "\(seconds) s after they are asked for"
        case nil: text
        }
    }

    private static func place(_ pattern: String, _ user: UserID) -> String {
        let text = pattern.replacing(PolicyTemplate.userPlaceholder, with: user.text)
        return text.hasSuffix("/*") && !text.dropLast(2).contains { "*?".contains($0) } ? String(text.dropLast()) : text
    }

    /// `a, b and c`
    private static func joined(_ texts: [String], by word: String = "and") -> String {
        guard let last = texts.last, texts.count > 1 else { return texts.first ?? "" }
        return texts.dropLast().joined(separator: ", ") + " \(word) " + last
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
