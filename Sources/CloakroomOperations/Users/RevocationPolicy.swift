import CloakroomAWS
package import CloakroomServer
import CloakroomWire
import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The inline policy of the vending role that denies everything to sessions that were revoked.
///
/// Each statement names users by the session tag `UserId`, and the time before which their sessions were issued
/// (IAM User Guide, "Revoke IAM role temporary security credentials").
package struct RevocationPolicy: Sendable, Equatable {
    /// Of the inline policy.
    package static let name = "cloakroom-revocations"

    /// What all inline policies of a role may have together (IAM User Guide, "IAM and AWS STS quotas").
    package static let quotaOfRole = 10_240
    /// The rest is for those that grant; where they take more than that, only IAM knows how much this one may have.
    package static let maximumLength = 6144

    package enum PolicyError: Error, Sendable, Equatable {
        /// The policy has statements that are not ours; it is not overwritten.
        case otherStatements
        /// Even one statement for all these users is longer than it may be.
        case tooMany(Int)
    }

    /// Users by the time before which their sessions count no more; those that ``everyone`` includes are left out.
    private var times: [UserID: Date] = [:]
    /// The time before which the sessions of all users count no more; `nil` for none.
    package private(set) var everyone: Date?

    package init() {}

    /// Reads back what ``text`` wrote.
    package init(parsing text: String) throws(PolicyError) {
        guard let policy = try? JSON(parsing: Array(text.utf8)), let statements = policy.object?["Statement"]?.array
        else { throw .otherStatements }
        for statement in statements {
            guard let statement = statement.object, statement["Effect"]?.string == "Deny",
                statement["Action"]?.string == "*", statement["Resource"]?.string == "*",
                let conditions = statement["Condition"]?.object,
                let text = conditions["DateLessThan"]?.object?["aws:TokenIssueTime"]?.string,
                let time = Self.time(text)
            else { throw .otherStatements }
            if conditions.members.count == 1 {
                revokeAll(before: time)
                continue
            }
            guard conditions.members.count == 2,
                let users = conditions["StringEquals"]?.object?["aws:PrincipalTag/UserId"]?.strings
            else { throw .otherStatements }
            for user in users {
                guard let user = UserID(user) else { throw .otherStatements }
                revoke(user, before: time)
            }
        }
    }

    /// How many users it names.
    package var count: Int { times.count }

    /// The later of two revocations of one user counts.
    package mutating func revoke(_ user: UserID, before time: Date) {
        let whole = Date(timeIntervalSince1970: time.timeIntervalSince1970.rounded(.up))
        guard whole > everyone ?? .distantPast else { return }
        times[user] = max(times[user] ?? whole, whole)
    }

    private mutating func revokeAll(before time: Date) {
        let latest = max(everyone ?? time, time)
        everyone = latest
        times = times.filter { $0.value > latest }
    }

    /// Takes out what has no session left: all that were issued before have ended by themselves.
    ///
    /// - Parameter lifetime: the longest of any session.
    package mutating func drop(at now: Date, lifetime: Duration) {
        let oldest = now.addingTimeInterval(-Double(lifetime.components.seconds))
        times = times.filter { $0.value >= oldest }
        if let time = everyone, time < oldest { everyone = nil }
    }

    /// ``text(within:)``; where the users are too many for it, with the sessions of all users from before the latest time
    /// denied in place of theirs.
    package mutating func textDenyingAllIfNeeded(
        within limit: Int = RevocationPolicy.maximumLength
    ) throws(PolicyError) -> String {
        do throws(PolicyError) { return try text(within: limit) } catch {
            guard case .tooMany = error, let latest = times.values.max() else { throw error }
            revokeAll(before: latest)
            return try text(within: limit)
        }
    }

    /// The policy in JSON. When it would be too long, all share the latest time: sessions that were issued since their
    /// own revocation end early then. Workers would hand them out all the same: see ``users(movedBy:)``.
    package func text(within limit: Int = RevocationPolicy.maximumLength) throws(PolicyError) -> String {
        let exact = encoded(Dictionary(grouping: times.keys) { times[$0] ?? .distantPast })
        if exact.utf8.count <= limit { return exact }
        guard let latest = times.values.max() else { throw .tooMany(0) }
        let shared = encoded([latest: Array(times.keys)])
        guard shared.utf8.count <= limit else { throw .tooMany(times.count) }
        return shared
    }

    /// The users of whom a text of this policy denies sessions from after their own revocation, too.
    package func users(movedBy text: String) throws(PolicyError) -> Set<UserID> {
        let written = try RevocationPolicy(parsing: text)
        return Set(times.filter { user, time in (written.times[user] ?? time) > time }.keys)
    }

    private func encoded(_ groups: [Date: [UserID]]) -> String {
        var writer = JSONWriter(capacity: 1024)
        writer.beginObject()
        writer.member("Version", "2012-10-17")
        writer.plainName("Statement")
        writer.beginArray()
        if let everyone { Self.append(everyone, [], to: &writer) }
        for (time, users) in groups.sorted(by: { $0.key < $1.key }) { Self.append(time, users, to: &writer) }
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// - Parameter users: empty for all.
    private static func append(_ time: Date, _ users: [UserID], to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("Effect", "Deny")
        writer.member("Action", "*")
        writer.member("Resource", "*")
        writer.plainName("Condition")
        writer.beginObject()
        if !users.isEmpty {
            writer.plainName("StringEquals")
            writer.beginObject()
            writer.plainName("aws:PrincipalTag/UserId")
            writer.beginArray()
            for user in users.map(\.text).sorted() { writer.string(user) }
            writer.endArray()
            writer.endObject()
        }
        writer.plainName("DateLessThan")
        writer.beginObject()
        writer.member("aws:TokenIssueTime", time.wireText)
        writer.endObject()
        writer.endObject()
        writer.endObject()
    }

    private static func time(_ text: String) -> Date? { Timestamp(iso8601: text)?.date }
}
