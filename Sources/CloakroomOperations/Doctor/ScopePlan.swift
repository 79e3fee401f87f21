package import CloakroomServer

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What is tried with vended credentials, and what should come of it.
package struct ScopeProbe: Sendable, Equatable {
    package enum Operation: Sendable, Equatable {
        case get(String)
        case put(String)
        case delete(String)
        case copy(from: String, to: String)
        /// `nil`: without a prefix.
        case list(String?)
    }

    package let operation: Operation
    package let isExpected: Bool
    /// Whose it is, in words.
    package let remark: String

    /// For a sentence.
    package var words: String {
        switch operation {
        case .get(let key): "GET \(key)"
        case .put(let key): "PUT \(key)"
        case .delete(let key): "DELETE \(key)"
        case .copy(let source, let destination): "a copy of \(source) to \(destination)"
        case .list(let prefix?): "a list of \(prefix)"
        case .list(nil): "a list of everything"
        }
    }
}

/// Probes for two invented users, one of whose ids begins with the other's.
///
/// No request is for a real user's objects: all are the doctor's, in the folders of these two.
package struct ScopePlan: Sendable {
    package let user = UserID.doctor
    package let neighbour = UserID.doctorsNeighbour
    private let settings: Settings
    /// What the doctor's objects are called in this run.
    private let name: String

    /// - Parameter name: safe in a key, and used by no other run.
    package init(_ settings: Settings, name: String) {
        self.settings = settings
        self.name = name
    }

    package func folders(_ scope: Scope) -> [String] { scope.policy.folders }

    /// A scope with which probe objects can be made in these folders and deleted again.
    package func keeper(for scope: Scope) -> Scope? {
        ([scope] + settings.vending.scopes.names.compactMap { settings.vending.scopes[$0] }).first { keeper in
            scope.policy.folders.allSatisfy { folder in
                ["s3:PutObject", "s3:DeleteObject"].allSatisfy { allows(keeper, $0, seed(of: user, in: folder)) }
            }
        }
    }

    /// The object that lies in a user's folder while probes run.
    package func seed(of user: UserID, in folder: String) -> String { "\(folder)\(user.text)/\(name)" }

    /// Objects that a probe puts are those of the seeds, which the doctor deletes.
    ///
    /// - Parameter writes: whether there are seeds, and things may be written; without, only lists are conclusive.
    package func probes(_ scope: Scope, writes: Bool) -> [ScopeProbe] {
        scope.policy.folders.flatMap { folder in
            lists(scope, folder) + (writes ? objects(scope, folder) : [])
        } + [ScopeProbe(operation: .list(nil), isExpected: allowsList(scope, nil), remark: "all users' objects")]
    }

    /// What the user lists of the neighbour's when the neighbour shares it; `nil` where no scope lists what is shared.
    package func share(at now: Date) -> (grant: Grant, probe: ScopeProbe)? {
        let (vending, rules) = (settings.vending, SharingRules(settings))
        for scope in vending.scopes.names.compactMap({ vending.scopes[$0] }) {
            var grant = Grant(scope: scope, lifetime: .seconds(900), tier: vending.defaultTier)
            for folder in scope.policy.folders where allowsList(scope, "\(folder)\(user.text)/") {
                let prefix = "\(folder)\(neighbour.text)/"
                guard let shared = SharedFolder(owner: neighbour, prefix: prefix, end: now.addingTimeInterval(7200))
                else { continue }
                grant.shared = rules.sessionShares([shared], of: user, grant, at: now).shared
                guard !grant.shared.isEmpty else { continue }
                return (
                    grant, ScopeProbe(operation: .list(prefix), isExpected: true, remark: "shared by another user")
                )
            }
        }
        return nil
    }

    private func lists(_ scope: Scope, _ folder: String) -> [ScopeProbe] {
        let own = "\(folder)\(user.text)"
        return [
            ("\(own)/", "the own folder"), (own, "the own folder and those that begin alike"),
            ("\(own)0/", "another user's folder"),
        ]
        .map { ScopeProbe(operation: .list($0), isExpected: allowsList(scope, $0), remark: $1) }
    }

    private func objects(_ scope: Scope, _ folder: String) -> [ScopeProbe] {
        let (own, other) = (seed(of: user, in: folder), seed(of: neighbour, in: folder))
        let isCopied = allows(scope, "s3:GetObject", other) && allows(scope, "s3:PutObject", own)
        let copy = ScopeProbe(
            operation: .copy(from: other, to: own), isExpected: isCopied,
            remark: "of another user's into the own folder")
        return [copy]
            + [("own", own), ("another user's", other)].flatMap { remark, key in
                [
                    ScopeProbe(operation: .get(key), isExpected: allows(scope, "s3:GetObject", key), remark: remark),
                    ScopeProbe(operation: .put(key), isExpected: allows(scope, "s3:PutObject", key), remark: remark),
                    ScopeProbe(
                        operation: .delete(key), isExpected: allows(scope, "s3:DeleteObject", key), remark: remark),
                ]
            }
    }

    private func allows(_ scope: Scope, _ action: String, _ key: String) -> Bool {
        let request = IAMRequest(
            action, "arn:\(settings.vending.partition):s3:::\(settings.bucket)/\(key)", context: context)
        return scope.policy.language.allows(request)
    }

    private func allowsList(_ scope: Scope, _ prefix: String?) -> Bool {
        var context = context
        if let prefix { context["s3:prefix"] = [prefix] }
        let request = IAMRequest(
            "s3:ListBucket", "arn:\(settings.vending.partition):s3:::\(settings.bucket)", context: context)
        return scope.policy.language.allows(request)
    }

    private var context: [String: [String]] { ["user": [user.text], "aws:principaltag/userid": [user.text]] }
}

extension UserID {
    /// For whom the doctor vends.
    package static let doctor = invented("cloakroom-doctor-1")
    /// Whose id begins with the doctor's.
    package static let doctorsNeighbour = invented("cloakroom-doctor-10")

    private static func invented(_ text: String) -> UserID {
        guard let user = UserID(text) else { preconditionFailure("an id of letters, digits and -") }
        return user
    }
}
