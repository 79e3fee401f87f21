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
}
