#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A system clock that cannot be right: tokens, signatures and expirations would all be wrong by it.
package struct ClockError: Error, Equatable, CustomStringConvertible {
    /// What the clock says.
    package let now: Date

    /// Nothing of this program is older than its first day, and no certificate or signature reaches beyond the end
    /// (X.509 ends in 9999; SigV4 has four digits for a year).
    private static let possible =
        Date(
            timeIntervalSince1970: 1_735_689_600)..<Date(
            timeIntervalSince1970: 4_102_444_800)

    /// - Returns: `nil` for a time from 2025 to 2099.
    package init?(now: Date) {
        guard !Self.possible.contains(now) else { return nil }
        self.now = now
    }

    package var description: String {
        let seconds = now.timeIntervalSince1970
        let year = seconds < 0 ? "before 1970" : "in the year \(1970 + Int(min(seconds, 1e12) / 31_556_952))"
        return "the system clock is \(year): tokens and signatures need the true time; set it, such as with "
            + "timedatectl set-ntp true"
    }
}
