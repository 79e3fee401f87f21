/// What the settings of a conversation are about to do, or have done: one thing at a time.
public enum RetentionTask: Sendable, Equatable {
    case none
    /// Counting the messages that a change, or a deletion, would remove.
    case counting
    /// What a change would do: the user decides, and for which messages.
    case confirmChange(RetentionChange)
    case changing
    /// How many messages would be deleted: the user decides.
    case confirmDeletion(messageCount: Int)
    case deleting
    /// So many messages are deleted, and no call returns them any more. The report says what of them is left to be erased.
    case deleted(messageCount: Int, PurgeReport)

    /// While it is under way, nothing else begins.
    public var isUnderWay: Bool {
        switch self {
        case .counting, .changing, .deleting: true
        case .none, .confirmChange, .confirmDeletion, .deleted: false
        }
    }

    /// Whether there is something to delete, once the user confirms it.
    public var canDelete: Bool {
        guard case .confirmDeletion(let count) = self else { return false }
        return count > 0
    }
}

/// A change of the policy, before it is made.
public struct RetentionChange: Sendable, Equatable {
    public let policy: MessageRetentionPolicy
    /// Messages that would be over at once with ``HistoryScope/history``; with ``HistoryScope/newMessages`` none is.
    public let endingCount: Int

    public init(to policy: MessageRetentionPolicy, endingCount: Int) {
        self.policy = policy
        self.endingCount = endingCount
    }

    /// Which messages the change can be for: a policy without a limit ends none that is here.
    public var scopes: [HistoryScope] { policy.afterSent == nil ? [.newMessages] : [.newMessages, .history] }
}
