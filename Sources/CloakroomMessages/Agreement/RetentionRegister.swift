/// What orders the policies of one participant.
package struct RegisterVersion: Sendable, Hashable, Comparable {
    package static let last: Int64 = 1 << 53 - 1
    /// The largest one that the time gives: whatever a clock says, there is room for changes behind it.
    package static let latestFirst: Int64 = 1 << 52

    /// 0 for messages of the first app's format, else from 1 to ``last``.
    package let number: Int64
    /// Orders the messages whose number is 0, by the sender's clock; 0 for others.
    package let legacyTime: Milliseconds

    /// - Returns: `nil` unless the number is from 1 to ``last``.
    package init?(_ number: Int64) {
        guard (1...Self.last).contains(number) else { return nil }
        self.number = number
        legacyTime = 0
    }

    /// The version of a message of the first app's format: before every other.
    package init(legacyTime: Milliseconds) {
        number = 0
        self.legacyTime = legacyTime.asTime
    }

    /// The first that a participant sends: a default counts as said.
    package static let first = Self(legacyTime: 0).next ?? Self(legacyTime: 0)

    /// `nil` after the last one.
    package var next: Self? { Self(number + 1) }

    package static func < (left: Self, right: Self) -> Bool {
        (left.number, left.legacyTime) < (right.number, right.legacyTime)
    }
}

/// What one participant has said last, and how far it reaches back. Only its author changes it.
package struct RetentionRegister: Sendable, Hashable {
    package var version: RegisterVersion
    package var policy: MessageRetentionPolicy
    package var cuts: RetentionCuts

    package init(version: RegisterVersion = .first, policy: MessageRetentionPolicy, cuts: RetentionCuts = .init()) {
        self.version = version
        self.policy = policy
        self.cuts = cuts
    }

    /// The policy of the higher version; of the same version, as when two devices of the author changed it at once, the
    /// stricter one. Cuts of both bind.
    package func joined(_ other: Self) -> Self {
        var joined = version < other.version ? other : self
        if version == other.version { joined.policy = policy.stricter(other.policy) }
        joined.cuts = cuts.joined(other.cuts)
        return joined
    }

    /// The author's own change.
    ///
    /// The version follows the author's own former one: counting those of others would let a peer who sends the last
    /// version keep this participant from ever changing anything. The first change on a device that knows no earlier one
    /// has the time as its version: peers may know of changes that were made before this device was erased, or on another
    /// one, which began the same way and have gone on by one each.
    ///
    /// - Parameters:
    ///   - time: by the clock that all share.
    ///   - newestBase: of all messages of the conversation on this device; `nil` when there are none. It is what
    ///     ``HistoryScope/history`` reaches back from: a clock could be wrong.
    /// - Returns: `nil` when the last version has been used.
    package func changed(
        to policy: MessageRetentionPolicy, applyingTo scope: HistoryScope, newestBase: Milliseconds?,
        at time: Milliseconds
    ) -> Self? {
        guard var next = version.next else { return nil }
        if version <= .first { next = max(next, RegisterVersion(min(time, RegisterVersion.latestFirst)) ?? next) }
        var cuts = cuts
        if scope == .history, let newestBase {
            cuts = cuts.joined(RetentionCuts(policy, before: newestBase.plus(1)))
        }
        return Self(version: next, policy: policy, cuts: cuts)
    }
}
