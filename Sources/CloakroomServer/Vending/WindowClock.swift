import CloakroomAWS

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// AWS' time, by which the windows of policies end, such as `${now+900s}`: ours, corrected by what STS tells with each
/// session that has a window.
struct WindowClock {
    /// From how many seconds on clocks differ. A host that keeps its time is milliseconds off, and what the call took and the
    /// seconds that STS leaves out are part of each ``ClockDifference``: more than this is a clock that nothing sets. The
    /// shortest window loses a twelfth by it.
    static let tolerance = 5.0

    /// By which our time is corrected; ``ClockDifference/zero`` while the clocks agree.
    private(set) var difference = ClockDifference.zero

    /// AWS' time at one of ours, never a later one: a window is rather shorter than it says.
    static func time(at ours: Date, by difference: ClockDifference) -> Date {
        ours.addingTimeInterval(difference.least)
    }

    /// Takes what one more session told.
    ///
    /// - Returns: by how many seconds AWS' clock is found to be ahead of ours, 0 where they agree again; `nil` where that is
    ///   no news.
    mutating func note(_ told: ClockDifference) -> Double? {
        let isNews = told.differs(from: difference, by: Self.tolerance)
        // A call that took long tells less than what is known.
        guard isNews || told.width <= difference.width + 1 else { return nil }
        let agrees = isNews ? !told.differs(from: .zero, by: Self.tolerance) : told.certain == 0
        guard !agrees else {
            defer { difference = .zero }
            return difference == .zero ? nil : 0
        }
        // One that drifts, or is being set right slowly, is followed.
        if isNews || difference != .zero { difference = told }
        return isNews ? told.certain : nil
    }
}
