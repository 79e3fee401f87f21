/// What is known of all participants of a conversation, also of those who left: their cuts still bind.
package struct RetentionState: Sendable, Hashable {
    package var registers: [ParticipantID: RetentionRegister]
    /// Who has sent a message of a later version of the protocol: what they want now is unknown.
    package var laterVersions: Set<ParticipantID>

    package init(
        registers: [ParticipantID: RetentionRegister] = [:], laterVersions: Set<ParticipantID> = []
    ) {
        self.registers = registers
        self.laterVersions = laterVersions
    }

    /// The same whatever the order, and however often.
    package func joined(_ other: Self) -> Self {
        Self(
            registers: registers.merging(other.registers) { $0.joined($1) },
            laterVersions: laterVersions.union(other.laterVersions))
    }

    /// Joins what one participant said.
    ///
    /// - Returns: whether it said anything new.
    @discardableResult
    package mutating func join(_ register: RetentionRegister, of author: ParticipantID) -> Bool {
        let joined = registers[author].map { $0.joined(register) } ?? register
        guard registers[author] != joined else { return false }
        registers[author] = joined
        return true
    }

    /// What the participants want, and what holds for new messages.
    ///
    /// - Parameters:
    ///   - reader: this device's user, whose register is made before anything else; without one they want nothing
    ///     stored.
    ///   - members: current ones; whether the reader is among them makes no difference. Who has left does not count.
    package func agreement(
        reader: ParticipantID, members: some Sequence<ParticipantID>, limits: RetentionLimits
    ) -> RetentionAgreement {
        let own = registers[reader]?.policy ?? .noStorage
        var peers: [ParticipantID: MessageRetentionPolicy?] = [:]
        var strictest = MessageRetentionPolicy.keep
        for member in members where member != reader {
            let policy = registers[member]?.policy
            // The last one that was understood still counts, but is not shown as what they want.
            if let policy { strictest = strictest.stricter(policy) }
            peers.updateValue(laterVersions.contains(member) ? nil : policy, forKey: member)
        }
        let effective = own.stricter(limits.peersPolicy(strictest)).stricter(limits.longest)
        return RetentionAgreement(own: own, peers: peers, effective: effective)
    }
}

extension RetentionLimits {
    /// What peers want, but no less than ``minimumForPeers``.
    package func peersPolicy(_ policy: MessageRetentionPolicy) -> MessageRetentionPolicy {
        policy.looser(shortestForPeers)
    }

    /// ``minimumForPeers`` as a policy: rounded up, at most 365 days.
    package var shortestForPeers: MessageRetentionPolicy {
        guard let minimumForPeers else { return .noStorage }
        return MessageRetentionPolicy(seconds: Milliseconds(minimumForPeers).plus(999) / 1000)
    }

    /// ``maximum`` as a policy: rounded down, at most 365 days.
    package var longest: MessageRetentionPolicy {
        guard let maximum else { return .keep }
        return MessageRetentionPolicy(seconds: Milliseconds(maximum) / 1000)
    }
}

extension MessageRetentionPolicy {
    /// The nearest policy that has a limit.
    fileprivate init(seconds: Int64) {
        let nearest = min(max(seconds, 0), Self.longest.components.seconds)
        self = Self(afterSent: .seconds(nearest)) ?? .noStorage
    }
}
