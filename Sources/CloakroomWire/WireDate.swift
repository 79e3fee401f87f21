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
        var text = Array("0000-00-00T00:00:00Z".utf8)
        Self.put(year, 4, at: 0, in: &text)
        Self.put(month, 2, at: 5, in: &text)
        Self.put(dayOfMonth, 2, at: 8, in: &text)
        Self.put(time / 3600, 2, at: 11, in: &text)
        Self.put(time / 60 % 60, 2, at: 14, in: &text)
        Self.put(time % 60, 2, at: 17, in: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private static func put(_ number: Int, _ digits: Int, at place: Int, in text: inout [UInt8]) {
        var rest = number
        for index in stride(from: place + digits - 1, through: place, by: -1) {
            text[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
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
