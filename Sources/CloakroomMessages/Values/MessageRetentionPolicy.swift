/// How long messages are kept: a limit of the time after they were sent.
public struct MessageRetentionPolicy: Sendable, Hashable {
    /// How long after it was sent a message is removed; `nil`: no limit. Zero is ``noStorage``.
    public let afterSent: Duration?

    /// Messages are in memory until the conversation closes: nothing of what they say is written.
    public static let noStorage = Self(seconds: 0)
    public static let oneHour = Self(seconds: 3600)
    public static let oneDay = Self(seconds: 86_400)
    public static let oneWeek = Self(seconds: 604_800)
    /// Messages have no end.
    public static let keep = Self(seconds: nil)

    /// The longest limit: 365 days.
    public static let longest = Duration.seconds(31_536_000)

    /// - Parameter afterSent: whole seconds, from 0 up to ``longest``; `nil` for no limit.
    /// - Returns: `nil` for any other duration.
    public init?(afterSent: Duration?) {
        if let afterSent {
            guard (.zero...Self.longest).contains(afterSent), afterSent.components.attoseconds == 0 else { return nil }
        }
        self.afterSent = afterSent
    }

    private init(seconds: Int?) { afterSent = seconds.map { .seconds($0) } }

    /// The one that keeps messages for a shorter time.
    public func stricter(_ other: Self) -> Self {
        guard let own = afterSent else { return other }
        guard let theirs = other.afterSent else { return self }
        return own <= theirs ? self : other
    }

    /// The one that keeps messages for a longer time.
    package func looser(_ other: Self) -> Self { stricter(other) == self ? other : self }

    /// ``afterSent`` in milliseconds.
    package var milliseconds: Milliseconds? { afterSent.map { Milliseconds($0) } }
}
