/// How far a participant's policies reach back: for each of 16 durations the time before which messages were sent that
/// end so soon.
///
/// Cuts only grow, and none is dropped because another is stricter, so that they join in any order to the same.
package struct RetentionCuts: Sendable, Hashable {
    /// In seconds, the shortest first. A policy between two of them reaches back as the shorter one.
    package static let durations: [Int64] = [
        0, 30, 300, 1800, 3600, 14_400, 28_800, 86_400, 259_200, 604_800, 1_209_600, 2_419_200, 2_592_000, 7_776_000,
        15_552_000, 31_536_000,
    ]

    /// A message that was sent before `before` ends so many seconds after it was sent.
    package struct Cut: Sendable, Hashable {
        package let seconds: Int64
        package let before: Milliseconds

        package init(seconds: Int64, before: Milliseconds) {
            self.seconds = seconds
            self.before = before
        }
    }

    /// The times by the durations' places; 0 is no cut, as no message was sent before 1970.
    private var times = [Milliseconds](repeating: 0, count: durations.count)

    package init() {}

    /// Cuts of one policy.
    ///
    /// - Parameter before: after the times of all messages that are cut.
    /// - Returns: none for a policy without a limit.
    package init(_ policy: MessageRetentionPolicy, before: Milliseconds) {
        guard let place = Self.place(of: policy) else { return }
        times[place] = before.asTime
    }

    /// Those that there are, the shortest first.
    package var all: [Cut] {
        zip(Self.durations, times).filter { $0.1 > 0 }.map { Cut(seconds: $0.0, before: $0.1) }
    }

    package var isEmpty: Bool { times.allSatisfy { $0 == 0 } }
    /// The latest time of any cut; 0 when there is none.
    package var latest: Milliseconds { times.max() ?? 0 }

    /// Adds a cut; a later one of the same duration stays as it is.
    ///
    /// - Returns: `false` when this is none of the durations; nothing is added then.
    @discardableResult
    package mutating func add(_ cut: Cut) -> Bool {
        guard let place = Self.durations.firstIndex(of: cut.seconds) else { return false }
        times[place] = max(times[place], cut.before.asTime)
        return true
    }

    /// The later time of each duration.
    package func joined(_ other: Self) -> Self {
        var joined = self
        for place in joined.times.indices { joined.times[place] = max(joined.times[place], other.times[place]) }
        return joined
    }

    /// The shortest duration that binds a message that was sent at `base`; `nil` when none does.
    package func limit(at base: Milliseconds) -> Milliseconds? {
        for (place, before) in times.enumerated() where base < before { return Self.durations[place] * 1000 }
        return nil
    }

    /// The policy as it reaches back: its duration, rounded down to one of ``durations``; `nil` for no limit.
    package static func duration(of policy: MessageRetentionPolicy) -> Milliseconds? {
        place(of: policy).map { durations[$0] * 1000 }
    }

    private static func place(of policy: MessageRetentionPolicy) -> Int? {
        guard let limit = policy.milliseconds else { return nil }
        return durations.lastIndex { $0 * 1000 <= limit }
    }
}
