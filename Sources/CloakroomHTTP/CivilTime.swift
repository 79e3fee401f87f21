/// A second of UTC as date and time of day, on the proleptic Gregorian calendar.
///
/// Foundation's formatters cost more than a signature does; this is arithmetic. Source: Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms".
package struct CivilTime: Sendable {
    package let year: Int
    package let month: Int
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int

    package init(_ secondsSince1970: Int) {
        let days = Self.days(secondsSince1970)
        let inDay = secondsSince1970 - days * 86_400
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let fromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * fromMarch + 2) / 5 + 1
        month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        (hour, minute, second) = (inDay / 3600, inDay / 60 % 60, inDay % 60)
    }

    /// Whole days since 1970.
    package static func days(_ secondsSince1970: Int) -> Int {
        (secondsSince1970 >= 0 ? secondsSince1970 : secondsSince1970 - 86_399) / 86_400
    }

    /// - Returns: `nil` when a part is missing or no calendar has such a day.
    package init?(year: Int?, month: Int?, day: Int?, hour: Int?, minute: Int?, second: Int?) {
        guard let year, let month, let day, let hour, let minute, let second,
            (1...12).contains(month), day >= 1, hour < 24, minute < 60, second < 60
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
        // The 31st of June would come back as the 1st of July.
        guard CivilTime(secondsSince1970).day == day else { return nil }
    }

    private var days: Int {
        let year = month <= 2 ? self.year - 1 : self.year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    package var secondsSince1970: Int { days * 86_400 + hour * 3600 + minute * 60 + second }

    /// From Sunday, 0.
    package var weekday: Int { ((days + 4) % 7 + 7) % 7 }
}

// ISO 8601 in UTC.
extension CivilTime {
    /// Reads `2013-05-24T00:00:00Z`, with any number of fractional digits, which are dropped, and with `+00:00` for `Z`.
    package init?(iso8601 bytes: Span<UInt8>) {
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            Self.isEnd(bytes.extracting(19..<bytes.count))
        else { return nil }
        self.init(
            year: bytes.decimal(0..<4), month: bytes.decimal(5..<7), day: bytes.decimal(8..<10),
            hour: bytes.decimal(11..<13), minute: bytes.decimal(14..<16), second: bytes.decimal(17..<19))
    }

    private static func isEnd(_ bytes: Span<UInt8>) -> Bool {
        var zone = 0
        if bytes[0] == UInt8(ascii: ".") {
            zone = 1
            while zone < bytes.count, bytes.decimal(zone..<zone + 1) != nil { zone += 1 }
            guard zone > 1 else { return false }
        }
        return bytes.isEqual("Z", from: zone) || bytes.isEqual("+00:00", from: zone)
    }

    /// `2013-05-24T00:00:00Z`: 20 characters.
    package func appendISO8601(to output: inout OutputSpan<UInt8>) {
        output.append(year: year)
        output.append(UInt8(ascii: "-"))
        output.append(twoDigits: month)
        output.append(UInt8(ascii: "-"))
        output.append(twoDigits: day)
        output.append(UInt8(ascii: "T"))
        appendTime(to: &output)
        output.append(UInt8(ascii: "Z"))
    }

    /// `00:00:00`
    package func appendTime(to output: inout OutputSpan<UInt8>) {
        output.append(twoDigits: hour)
        output.append(UInt8(ascii: ":"))
        output.append(twoDigits: minute)
        output.append(UInt8(ascii: ":"))
        output.append(twoDigits: second)
    }
}

extension OutputSpan<UInt8> {
    /// Four digits.
    package mutating func append(year: Int) {
        append(twoDigits: year / 100)
        append(twoDigits: year % 100)
    }

    package mutating func append(twoDigits number: Int) {
        append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}

extension Span<UInt8> {
    /// - Returns: `nil` for anything but digits.
    package func decimal(_ range: Range<Int>) -> Int? {
        var number = 0
        for index in range {
            let digit = self[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            number = number * 10 + Int(digit)
        }
        return number
    }

    /// Whether this is all that is left.
    fileprivate func isEqual(_ text: StaticString, from start: Int) -> Bool {
        guard count - start == text.utf8CodeUnitCount else { return false }
        for index in 0..<count - start where self[start + index] != text.utf8Start[index] { return false }
        return true
    }
}
