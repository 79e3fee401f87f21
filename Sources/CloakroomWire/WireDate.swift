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
        var text: [UInt8] = []
        text.append(addingCapacity: Self.wireCount) { appendWireText(to: &$0) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Bytes of ``wireText``.
    static let wireCount = 20

    func appendWireText(to output: inout OutputSpan<UInt8>) {
        let second = Int(timeIntervalSince1970.rounded(.down))
        let day = second.flooredQuotient(by: 86_400)
        let time = second - day * 86_400
        let (year, month, dayOfMonth) = Self.civilDate(ofDay: day)
        Self.append(year / 100, nil, to: &output)
        Self.append(year, "-", to: &output)
        Self.append(month, "-", to: &output)
        Self.append(dayOfMonth, "T", to: &output)
        Self.append(time / 3600, ":", to: &output)
        Self.append(time / 60 % 60, ":", to: &output)
        Self.append(time % 60, "Z", to: &output)
    }

    /// Reads ``wireText``, also with a fraction behind the seconds, as JavaScript writes it; the fraction is cut off.
    package init?(wireText text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            Self.isEnd(bytes[19...]),
            let year = Self.number(bytes[0..<4]), let month = Self.number(bytes[5..<7]),
            let day = Self.number(bytes[8..<10]), let hour = Self.number(bytes[11..<13]),
            let minute = Self.number(bytes[14..<16]), let second = Self.number(bytes[17..<19]),
            (1...12).contains(month), day >= 1, hour < 24, minute < 60, second < 60
        else { return nil }
        let days = Self.days(year: year, month: month, day: day)
        // The 31st of June would come back as the 1st of July.
        guard Self.civilDate(ofDay: days).day == day else { return nil }
        self.init(timeIntervalSince1970: Double(days * 86_400 + hour * 3600 + minute * 60 + second))
    }

    /// `Z` or `+00:00`, either perhaps behind a fraction.
    private static func isEnd(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        if rest.first == UInt8(ascii: ".") {
            let zone = rest.dropFirst().drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard zone.startIndex > rest.startIndex + 1 else { return false }
            rest = zone
        }
        return rest.elementsEqual("Z".utf8) || rest.elementsEqual("+00:00".utf8)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var number = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return number
    }

    /// Two digits, and what stands behind them.
    private static func append(_ number: Int, _ mark: Unicode.Scalar?, to output: inout OutputSpan<UInt8>) {
        output.append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
        output.append(UInt8(ascii: "0") + UInt8(number % 10))
        if let mark { output.append(UInt8(ascii: mark)) }
    }

    /// The day of a Gregorian date, counted from 1970-01-01; the inverse of ``civilDate(ofDay:)``.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = year.flooredQuotient(by: 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
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
