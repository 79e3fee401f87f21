import CloakroomAWS
import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Which of the folders that others share with a user a session gets, and how its policy says so.
package struct SharingRules: Sendable {
    /// Why a folder that is shared is not opened.
    package enum Omission: String, Sendable, CaseIterable {
        /// It lies in no folder of its owner's, by the settings of today.
        case place
        /// More owners than ``SharedFolders/maximumOwners``.
        case owners
        /// STS has no room for it.
        case size
        /// The record says what no command writes.
        case unreadable
        /// STS refuses a session with what is shared.
        case refused
    }

    /// How many folders a user is given at the most; all of them stand in one field.
    package static let maximumFolders = 64
    /// After so many that did not fit no other is tried: each takes as long as a request.
    private static let maximumTries = 8

    private let bucketARN: String
    /// Where users have folders, of all scopes.
    package let places: [String]
    private let store: ObjectStore
    private let requestDeadline: Duration

    package init(_ settings: Settings) {
        bucketARN = "arn:\(settings.vending.partition):s3:::\(settings.bucket)"
        places = settings.vending.scopes.folders
        store = settings.vending.store
        requestDeadline = settings.server.requestDeadline
    }

    /// Until when a folder has to be shared to be opened now.
    ///
    /// Where conditions do not know the time, a session has to end with what it opens; none is shorter than
    /// ``Grant/shortestLifetime``, and STS may be called as late as the request's deadline.
    package func earliestEnd(at time: Date) -> Date {
        guard !store.conditionsKnowTime else { return time }
        return time.addingTimeInterval(Double(Grant.shortestLifetime) + requestDeadline / .seconds(1))
    }

    /// Those that are shared still, in the order in which they were shared: what comes later takes no room of theirs.
    func current(_ shares: [SharedFolder], for user: UserID, at time: Date) -> [SharedFolder] {
        let earliest = earliestEnd(at: time)
        return shares.filter { $0.end > earliest && $0.owner != user }
    }

    /// What a session that begins then opens besides the user's own, and what it cannot.
    package func sessionShares(
        _ shares: [SharedFolder], of user: UserID, _ grant: Grant, at time: Date
    ) -> (shared: SharedFolders, omitted: [(folder: SharedFolder, why: Omission)]) {
        fitting(current(shares, for: user, at: time), for: user, grant)
    }

    /// What a session of this grant opens besides the user's own.
    ///
    /// - Parameter shares: those of ``current(_:for:at:)``.
    /// - Returns: nothing is left out that the scope does not ask for.
    func fitting(
        _ shares: [SharedFolder], for user: UserID, _ grant: Grant
    ) -> (shared: SharedFolders, omitted: [(folder: SharedFolder, why: Omission)]) {
        var omitted: [(folder: SharedFolder, why: Omission)] = []
        var fits = SharedFolders.none
        var tooLarge = 0
        for folder in shares {
            guard let place = folder.folder(among: places) else {
                omitted.append((folder, .place))
                continue
            }
            guard grant.scope.policy.language.reads(wholly: place, in: bucketARN) else { continue }
            let folders = fits.folders + [folder]
            guard SharedFolders.owners(of: folders).count <= SharedFolders.maximumOwners else {
                omitted.append((folder, .owners))
                continue
            }
            var grown = grant
            grown.shared = shared(folders, grant.scope.policy.language)
            guard tooLarge < Self.maximumTries, grown.fits(user) else {
                tooLarge += 1
                omitted.append((folder, .size))
                continue
            }
            fits = grown.shared
        }
        return (fits, omitted)
    }

    private func shared(_ folders: [SharedFolder], _ scope: IAMPolicy) -> SharedFolders {
        var statements: [JSON] = []
        for (end, folders) in Dictionary(grouping: folders, by: \.end).sorted(by: { $0.key < $1.key }) {
            let time: JSON? =
                store.conditionsKnowTime ? ["DateLessThan": ["aws:CurrentTime": .string(end.wireText)]] : nil
            statements.append(
                statement("s3:GetObject", folders.map { "\(bucketARN)/\($0.prefix)*" }, conditions: [time]))
            let lists = folders.filter { folder in
                folder.folder(among: places).map { scope.lists(wholly: $0, in: bucketARN) } ?? false
            }
            guard !lists.isEmpty else { continue }
            let prefixes: JSON = ["StringLike": ["s3:prefix": .oneOrMany(lists.map { "\($0.prefix)*" })]]
            statements.append(statement("s3:ListBucket", [bucketARN], conditions: [prefixes, time]))
        }
        return SharedFolders(
            folders: folders, statements: statements.map(\.text).joined(separator: ","),
            callTime: store.conditionsKnowTime ? nil : requestDeadline)
    }

    private func statement(_ action: String, _ resources: [String], conditions: [JSON?]) -> JSON {
        let operators = conditions.compactMap { $0?.object?.members }.flatMap(\.self)
        var members: [JSON.Object.Member] = [
            .init(name: "Effect", value: .string("Allow")), .init(name: "Action", value: .string(action)),
            .init(name: "Resource", value: .oneOrMany(resources)),
        ]
        if !operators.isEmpty {
            members.append(.init(name: "Condition", value: .object(.init(members: operators))))
        }
        return .object(.init(members: members))
    }
}

extension IAMPolicy {
    /// Whether it lets each user read all of their own objects in a folder, under no condition. Only to such a scope does
    /// it add to read another's: one that is held to an album or to an address stays so.
    fileprivate func reads(wholly folder: String, in bucketARN: String) -> Bool {
        let whole = IAMPattern("\(bucketARN)/\(folder)\(PolicyTemplate.userPlaceholder)/*")
        return statements.contains { statement in
            statement.isAllow && statement.conditions.isEmpty && statement.allows("s3:getobject")
                && statement.resources?.patterns.contains(whole) == true
        }
    }

    /// The same for lists: under no condition but the one on the prefix.
    fileprivate func lists(wholly folder: String, in bucketARN: String) -> Bool {
        let whole = "\(folder)\(PolicyTemplate.userPlaceholder)/*"
        return statements.contains { statement in
            statement.isAllow && statement.allows("s3:listbucket") && statement.conditions.count == 1
                && statement.conditions[0].key == "s3:prefix"
                && statement.conditions[0].test == IAMCondition.Test("StringLike")
                && statement.conditions[0].values.contains(whole)
        }
    }
}

extension IAMPolicy.Statement {
    fileprivate func allows(_ action: String) -> Bool { actions.patterns.contains(IAMPattern(action)) }
}
