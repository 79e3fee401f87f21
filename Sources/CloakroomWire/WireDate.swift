#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension Date {
    /// ISO 8601 in UTC without a fraction, such as `2026-03-14T08:00:00Z`: what `JSONDecoder`'s `.iso8601` reads.
    ///
    /// The fraction is cut off, so that an expiration is never told as later than it is.
    package var wireText: String {
        let second = Int(timeIntervalSince1970.rounded(.down))
        let day = second.flooredQuotient(by: 86_400)
        let time = second - day * 86_400
        let (year, month, dayOfMonth) = Self.civilDate(ofDay: day)
        var text: [UInt8] = []
        text.reserveCapacity(20)
        Self.append(year, 4, to: &text)
        for (mark, number) in [
            ("-", month), ("-", dayOfMonth), ("T", time / 3600), (":", time / 60 % 60), (":", time % 60),
        ]
            as [(Unicode.Scalar, Int)]
        {
            text.append(UInt8(ascii: mark))
            Self.append(number, 2, to: &text)
        }
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    private static func append(_ number: Int, _ digits: Int, to text: inout [UInt8]) {
        var divisor = digits == 4 ? 1000 : 10
        while divisor > 0 {
            text.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }

    /// The Gregorian date of a day counted from 1970-01-01, by eras of 400 years that begin in March.
    private static func civilDate(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = shifted.flooredQuotient(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}

extension Int {
    fileprivate func flooredQuotient(by divisor: Int) -> Int {
        self >= 0 ? self / divisor : -((divisor - 1 - self) / divisor)
    }
}
