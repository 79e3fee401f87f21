#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// By how much a server's clock is ahead of ours, in seconds, as far as one exchange tells.
///
/// A server tells whole seconds, and read its clock at some moment of the exchange.
package struct ClockDifference: Sendable, Equatable {
    package let least: Double
    package let most: Double

    private init(least: Double, most: Double) {
        self.least = least
        self.most = most
    }

    package static let zero = ClockDifference(least: 0, most: 0)

    /// - Parameters:
    ///   - theirs: without the fraction of its second.
    ///   - sent: by our clock, as `received`.
    /// - Returns: `nil` where ours was set back during the exchange.
    package init?(theirs: Date, sent: Date, received: Date) {
        guard received >= sent else { return nil }
        self.init(least: theirs.timeIntervalSince(received), most: theirs.timeIntervalSince(sent) + 1)
    }

    /// What is certain of it; 0 where the clocks may agree.
    package var certain: Double { least > 0 ? least : min(most, 0) }

    /// How little is certain of it.
    package var width: Double { most - least }

    /// Whether they are more than so many seconds apart, wherever in their range each of them lies.
    package func differs(from other: ClockDifference, by seconds: Double) -> Bool {
        least > other.most + seconds || most < other.least - seconds
    }
}
