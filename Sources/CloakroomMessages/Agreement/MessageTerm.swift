/// When a message ends. Deadlines are by the clock of the message's base, and only ever fall.
package struct MessageTerm: Sendable, Hashable {
    /// What all participants compute, from the stamp and the author's cuts; `nil`: no time is set, also when the stamp
    /// says that nothing is stored.
    package var shared: Milliseconds?
    /// When it ends on this device; `nil`: no end.
    package var local: Milliseconds?
    /// When it ends on this device by what its user decided alone, without any peer; `nil`: no end. Not before ``local``.
    package var own: Milliseconds?
    /// `false`: it is in memory only, until the conversation closes, or ``local`` if that is earlier.
    package var isStored: Bool

    package init(shared: Milliseconds?, local: Milliseconds?, own: Milliseconds?, isStored: Bool) {
        self.shared = shared
        self.local = local
        self.own = own
        self.isStored = isStored
    }

    /// Without an end.
    package static let endless = Self(shared: nil, local: nil, own: nil, isStored: true)

    /// It ends no later than what it quotes, and is not stored when that is not.
    ///
    /// - Parameter least: a peer who ends what is quoted does not end this message here before; `nil`: at once.
    package func quoting(_ other: Self, notBefore least: Milliseconds?) -> Self {
        let peers = other.local.map { max($0, least ?? $0) }
        return Self(
            shared: Self.first(shared, other.shared), local: Self.first(Self.first(local, peers), other.own),
            own: Self.first(own, other.own), isStored: isStored && other.isStored)
    }

    /// The earlier of both ends; whether it is stored does not change.
    package func lowered(to other: Self) -> Self {
        Self(
            shared: Self.first(shared, other.shared), local: Self.first(local, other.local),
            own: Self.first(own, other.own), isStored: isStored)
    }

    /// The earlier of two deadlines.
    package static func first(_ left: Milliseconds?, _ right: Milliseconds?) -> Milliseconds? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }
}

/// A message as far as its end depends on it.
package struct TermInputs: Sendable, Hashable {
    package var author: ParticipantID
    package var base: MessageBase
    /// The base for comparison with cuts, which are by the clock that all share.
    package var sharedBase: Milliseconds
    /// The policy of the message's stamp.
    package var stamp: MessageRetentionPolicy
    /// The reader's own policy when the message was admitted.
    package var ownPolicy: MessageRetentionPolicy

    package init(
        author: ParticipantID, base: MessageBase, sharedBase: Milliseconds, stamp: MessageRetentionPolicy,
        ownPolicy: MessageRetentionPolicy
    ) {
        self.author = author
        self.base = base
        self.sharedBase = sharedBase
        self.stamp = stamp
        self.ownPolicy = ownPolicy
    }
}

extension RetentionState {
    /// When a message ends on the reader's device, without what it quotes.
    ///
    /// The author's cuts count for all participants and are part of ``MessageTerm/shared``. The reader's own cuts bind
    /// all that the reader holds, but nothing at others, so they count for ``MessageTerm/local`` alone.
    /// A peer cannot make this device drop a message sooner than ``RetentionLimits/minimumForPeers``.
    package func term(of message: TermInputs, reader: ParticipantID, limits: RetentionLimits) -> MessageTerm {
        let base = message.base.time
        let authorsCut = registers[message.author]?.cuts.limit(at: message.sharedBase)
        let shared = MessageTerm.first(
            message.stamp == .noStorage ? nil : message.stamp.milliseconds, authorsCut)

        var stamp = message.stamp
        var cut = authorsCut
        if message.author != reader {
            let least = limits.shortestForPeers
            stamp = limits.peersPolicy(stamp)
            cut = cut.map { max($0, least.milliseconds ?? $0) }
        }
        let longest = limits.longest
        let isStored = stamp != .noStorage && message.ownPolicy != .noStorage && longest != .noStorage
        // The stamp of this user's own message has what peers wanted in it.
        let own = MessageTerm.first(
            MessageTerm.first(message.ownPolicy.limit, longest.limit),
            registers[reader]?.cuts.limit(at: message.sharedBase))
        let local =
            MessageTerm.first(own, MessageTerm.first(stamp.limit, cut))
            // The longest policy does in any case, so that its tombstone need not stay for ever.
            ?? (isStored ? nil : Milliseconds(MessageRetentionPolicy.longest))
        return MessageTerm(
            shared: shared.map { base.plus($0) }, local: local.map { base.plus($0) }, own: own.map { base.plus($0) },
            isStored: isStored)
    }
}

extension RetentionLimits {
    /// The earliest time at which a peer can end a message here that was sent at `base`; `nil`: at any.
    package func least(after base: Milliseconds) -> Milliseconds? {
        minimumForPeers == nil ? nil : shortestForPeers.milliseconds.map { base.plus($0) }
    }
}

extension MessageRetentionPolicy {
    /// How long a message stays while its conversation is open, in milliseconds; `nil`: no limit. Nothing stored is not
    /// "ended": such a message is shown until the conversation closes, or another limit ends it.
    fileprivate var limit: Milliseconds? { self == .noStorage ? nil : milliseconds }

    /// The policy of the stamp of a message of this user that quotes another one: it ends no later than that, and is not
    /// stored when that was not to be, also at participants who do not have that one any more.
    ///
    /// - Parameters:
    ///   - stamp: that of the quoted message.
    ///   - deadline: its ``MessageTerm/shared``; `nil`: no end.
    ///   - limits: what no other message shortens this one below, as what peers wanted is in each stamp.
    ///   - now: by the clock of the deadline.
    package func quoting(
        _ stamp: Self, until deadline: Milliseconds?, within limits: RetentionLimits, at now: Milliseconds
    ) -> Self {
        let policy = stamp == .noStorage ? stricter(limits.peersPolicy(.noStorage)) : self
        guard let deadline else { return policy }
        // Rounded up: as long as the quoted message is there, its own deadline counts to the millisecond.
        let left = max(deadline, limits.least(after: now) ?? deadline).minus(now)
        let seconds = min(max(0, left).plus(999) / 1000, Self.longest.components.seconds)
        // Nothing stored would not be an end while the conversation is open.
        return policy.stricter(Self(afterSent: .seconds(max(1, seconds))) ?? policy)
    }
}

/// What keeps a purged message from coming back.
package enum Tombstones {
    /// From when on a copy of a message would be over when it arrives, so that its tombstone is no longer needed.
    ///
    /// - Parameter stamp: the message's.
    /// - Returns: by the shared clock; `nil`: never, as a copy without a relay's time would be as new, and one without
    ///   a limit would live on when this user's policy has changed since.
    package static func until(_ base: MessageBase, stamp: MessageRetentionPolicy) -> Milliseconds? {
        guard base.clock == .relay, stamp.afterSent != nil else { return nil }
        // Limits of this device may have prolonged it, up to the longest policy.
        return base.time.plus(Milliseconds(MessageRetentionPolicy.longest))
    }

    /// The last day, since 1970, on which it may be needed.
    package static func lastDay(_ base: MessageBase, stamp: MessageRetentionPolicy) -> Int64? {
        until(base, stamp: stamp).map { $0 / Milliseconds.day + 1 }
    }
}
