/// A span of deadlines whose messages share a key: when its end has passed, the key is dropped.
///
/// A slot is named by its end, so that the same one means the same whatever policy it comes from. Spans are a sixteenth
/// of a policy's duration, rounded down to one of few widths: peers who stamp each message with a duration of its own
/// cannot make a key for each.
struct DeadlineSlot: RawRepresentable, Sendable, Hashable, Comparable {
    /// The end in seconds since 1970; `Int64.max` for messages without a deadline.
    let rawValue: Int64

    /// That of messages without a deadline.
    static let endless = Self(rawValue: .max)

    /// Seconds: a sixteenth of 16 minutes, half an hour, an hour, two, … a week, … a year; then 30 days. Each is at most
    /// twice the one before.
    static let widths: [Int64] = [
        60, 112, 225, 450, 900, 1800, 2700, 5400, 10_800, 18_900, 37_800, 75_600, 151_200, 302_400, 604_800, 1_209_600,
        1_971_000, 2_592_000,
    ]

    init(rawValue: Int64) { self.rawValue = rawValue }

    /// - Parameters:
    ///   - deadline: in milliseconds since 1970; `nil` for none.
    ///   - policy: what the deadline comes from: it ends a sixteenth of its duration late at most, or a minute.
    init(of deadline: Int64?, policy: MessageRetentionPolicy) {
        guard let deadline else {
            self = .endless
            return
        }
        let width = Self.width(of: policy)
        let seconds = deadline / 1000 + (deadline % 1000 > 0 ? 1 : 0)
        let rest = ((seconds % width) + width) % width
        let (end, isTooLarge) = seconds.addingReportingOverflow(rest == 0 ? 0 : width - rest)
        self = isTooLarge ? .endless : Self(rawValue: end)
    }

    /// In seconds, from 60 to 30 days; that of a policy without a limit is the longest.
    static func width(of policy: MessageRetentionPolicy) -> Int64 {
        guard let milliseconds = policy.milliseconds else { return widths[widths.count - 1] }
        return widths.last { $0 * 16_000 <= milliseconds } ?? widths[0]
    }

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
