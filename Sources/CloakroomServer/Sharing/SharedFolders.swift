package import CloakroomAWS

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a session opens of other users' folders: as much as there is room for.
package struct SharedFolders: Sendable, Hashable {
    package static let none = SharedFolders(folders: [], statements: "", callTime: nil)
    /// As many as there are session tags for them: see `deploy/iam/sharing-policy.json`.
    package static let maximumOwners = 4

    package let folders: [SharedFolder]
    /// Of the session policy, in JSON with commas between them.
    let statements: String
    /// How long a call of STS may take, where sessions end with the first of the folders: on a store whose conditions do
    /// not know the time. `nil` on others.
    let callTime: Duration?

    package var isEmpty: Bool { folders.isEmpty }

    /// Each once, in order.
    package var owners: [UserID] { Self.owners(of: folders) }

    static func owners(of folders: [SharedFolder]) -> [UserID] {
        Set(folders.map(\.owner)).sorted { $0.text < $1.text }
    }

    /// What the role's own policy allows by: `Shared1` to `Shared4`.
    var tags: [AssumeRole.Tag] { Self.tags(of: owners) }

    package static func tags(of owners: [UserID]) -> [AssumeRole.Tag] {
        owners.enumerated().map { AssumeRole.Tag(key: "Shared\($0.offset + 1)", value: $0.element.text) }
    }

    /// A session policy with these beside what it allows anyway.
    ///
    /// - Parameter policy: an encoded ``SessionPolicy``, whose last member is an array of statements.
    func added(to policy: String) -> String {
        guard !isEmpty else { return policy }
        precondition(policy.hasSuffix("]}"), "a session policy ends with its statements")
        return "\(policy.dropLast(2)),\(statements)]}"
    }

    /// What tells these from others, for the name of a key that outlives the process.
    var identity: String { folders.map(\.line).joined(separator: "\n") }

    /// Until when a session may be requested to last because of them; `nil` for no earlier than it would.
    ///
    /// STS counts from when it handles the call, so what that may take is left until the first of them ends.
    var sessionEnd: Date? {
        guard let callTime else { return nil }
        return folders.map(\.end).min()?.addingTimeInterval(-(callTime / .seconds(1)))
    }
}
