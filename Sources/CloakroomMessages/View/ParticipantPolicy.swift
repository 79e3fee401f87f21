/// What one participant of a conversation wants.
public struct ParticipantPolicy: Sendable, Hashable, Identifiable {
    public let id: ParticipantID
    public let isThisUser: Bool
    /// `nil`: not confirmed.
    public let policy: MessageRetentionPolicy?

    public init(_ id: ParticipantID, isThisUser: Bool, policy: MessageRetentionPolicy?) {
        self.id = id
        self.isThisUser = isThisUser
        self.policy = policy
    }
}

extension RetentionAgreement {
    /// Whether one who has sent a policy wants another one than this user.
    public var isDisagreement: Bool { peers.values.contains { $0.map { $0 != own } ?? false } }

    /// Those who have not sent a policy, or one of a later version.
    public var unconfirmed: Set<ParticipantID> { Set(peers.keys.filter { peers[$0] == .some(nil) }) }

    /// This user first, then the others by their names.
    ///
    /// - Parameter participant: this user.
    public func participants(besides participant: ParticipantID) -> [ParticipantPolicy] {
        let others = peers.sorted { $0.key < $1.key }.map {
            ParticipantPolicy($0.key, isThisUser: false, policy: $0.value)
        }
        return [ParticipantPolicy(participant, isThisUser: true, policy: own)] + others
    }
}

extension MessageRetentionPolicy {
    /// What a picker offers, the shortest first.
    public static let presets: [Self] = [.noStorage, .oneHour, .oneDay, .oneWeek, .keep]

    /// The presets within this device's limits, the longest that these allow, and what the user has now; the shortest
    /// first.
    static func choices(besides own: Self, limits: RetentionLimits) -> [Self] {
        let longest = limits.longest
        let presets = presets.filter { $0.stricter(longest) == $0 }
        return Set(presets + [longest, own]).sorted { $0 != $1 && $0.stricter($1) == $0 }
    }
}
