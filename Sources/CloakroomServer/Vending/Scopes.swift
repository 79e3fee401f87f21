import CloakroomJSON

/// All scopes of the settings, and which of them is within which.
package struct Scopes: Sendable {
    /// Why there are none; the name is the scope's.
    enum ScopeError: Error, Equatable {
        case policy(scope: String, SessionPolicyError)
        /// The folders of one lie within the other's folder of the user that is named as the level between.
        case nested(scope: String, folder: String, within: String)
    }

    private let named: [String: Scope]
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
