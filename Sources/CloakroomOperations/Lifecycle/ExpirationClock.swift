#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// When objects expire: so many days after they were last written, and then at the next midnight in UTC.
///
/// Source: S3 User Guide, "Lifecycle configuration elements", "Lifecycle rules: Based on an object's age": written on
/// 1/15 at 10:30 with three days, expired on 1/19 at 00:00.
package struct ExpirationClock: Sendable, Equatable {
    /// Shorter than a day for stores whose days pass faster, for tests; days begin at multiples of it since 1970.
    package let dayLength: Duration

    package init(dayLength: Duration = .seconds(86_400)) {
        precondition(dayLength > .zero)
        self.dayLength = dayLength
    }

    /// In seconds.
    package var day: Double { dayLength / .seconds(1) }

    package func startOfDay(_ date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 / day).rounded(.down) * day)
    }

    package func expiration(of written: Date, days: Int) -> Date {
        startOfDay(written).addingTimeInterval(Double(days + 1) * day)
    }

    /// The moment before which nothing may expire.
    ///
    /// The same on S3. A store whose days are shorter need not wait for their end: Ceph's `rgw_lc_debug_interval` counts
    /// from the second of the write.
    package func earliestExpiration(of written: Date, days: Int) -> Date {
        isShort ? written.addingTimeInterval(Double(days) * day) : expiration(of: written, days: days)
    }

    /// When an object is to be renewed: halfway through its days, at least a day later, as clients do; of short days half of
    /// them, whether or not they are rounded.
    package func renewal(of written: Date, days: Int) -> Date {
        isShort
            ? written.addingTimeInterval(Double(days) * day / 2)
            : startOfDay(written).addingTimeInterval(Double(max(1, days / 2)) * day)
    }

    private var isShort: Bool { dayLength < .seconds(86_400) }

    /// Whether what a store says of an object's expiration is in these days: Ceph's `x-amz-expiration` counts days of 24 hours,
    /// however short those are by which it expires.
    ///
    /// - Parameter told: `nil` where the store does not tell.
    func agrees(_ told: Date?, written: Date, days: Int) -> Bool {
        guard let told else { return false }
        return abs(told.timeIntervalSince(expiration(of: written, days: days))) <= day
    }
}
