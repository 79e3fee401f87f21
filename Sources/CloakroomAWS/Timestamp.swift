import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A second in UTC, in the spellings that AWS uses.
///
/// Foundation's formatters cost more than a signature does; this is arithmetic on the proleptic Gregorian calendar.
package struct Timestamp: Sendable, Equatable {
    package let secondsSince1970: Int

    package init(secondsSince1970: Int) { self.secondsSince1970 = secondsSince1970 }

    /// Fractions of a second are dropped.
    package init(_ date: Date) {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        // Beyond year 9999 no spelling below exists.
        self.init(secondsSince1970: Int(min(max(seconds, -62_135_596_800), 253_402_300_799)))
    }

    package var date: Date { Date(timeIntervalSince1970: Double(secondsSince1970)) }

    /// As in `x-amz-date`: `20130524T000000Z`.
    package var basic: String {
        let time = CivilTime(secondsSince1970)
        var text: [UInt8] = []
        text.reserveCapacity(16)
        text.append(day: time)
        text.append(UInt8(ascii: "T"))
        text.append(twoDigits: time.hour)
        text.append(twoDigits: time.minute)
        text.append(twoDigits: time.second)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// `2013-05-24T00:00:00Z`
    package var iso8601: String {
        let time = CivilTime(secondsSince1970)
        var text: [UInt8] = []
        text.reserveCapacity(20)
        text.append(year: time.year)
        text.append(UInt8(ascii: "-"))
        text.append(twoDigits: time.month)
        text.append(UInt8(ascii: "-"))
        text.append(twoDigits: time.day)
        text.append(UInt8(ascii: "T"))
        text.append(twoDigits: time.hour)
        text.append(UInt8(ascii: ":"))
        text.append(twoDigits: time.minute)
        text.append(UInt8(ascii: ":"))
        text.append(twoDigits: time.second)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    var daysSince1970: Int { CivilTime.days(secondsSince1970) }

    /// As in a credential scope: `20130524`.
    package var day: String {
        var text: [UInt8] = []
        text.append(day: CivilTime(secondsSince1970))
        return String(decoding: text, as: UTF8.self)
    }

    /// As in `Last-Modified` (RFC 9110 §5.6.7): `Fri, 24 May 2013 00:00:00 GMT`.
    package var http: String {
        let time = CivilTime(secondsSince1970)
        var text: [UInt8] = []
        text.reserveCapacity(29)
        text.append(contentsOf: weekdays[time.weekday].utf8)
        text.append(contentsOf: ", ".utf8)
        text.append(twoDigits: time.day)
        text.append(UInt8(ascii: " "))
        text.append(contentsOf: months[time.month - 1].utf8)
        text.append(UInt8(ascii: " "))
        text.append(year: time.year)
        text.append(UInt8(ascii: " "))
        text.append(twoDigits: time.hour)
        text.append(UInt8(ascii: ":"))
        text.append(twoDigits: time.minute)
        text.append(UInt8(ascii: ":"))
        text.append(twoDigits: time.second)
        text.append(contentsOf: " GMT".utf8)
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads ``basic``.
    package init?(basic text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z"),
            let time = CivilTime(
                year: bytes.decimal(0..<4), month: bytes.decimal(4..<6), day: bytes.decimal(6..<8),
                hour: bytes.decimal(9..<11), minute: bytes.decimal(11..<13), second: bytes.decimal(13..<15))
        else { return nil }
        self.init(secondsSince1970: time.secondsSince1970)
    }

    /// Reads ``http``; the weekday is not checked (S3's documentation itself has wrong ones).
    package init?(http text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[19] == UInt8(ascii: ":"),
            bytes[22] == UInt8(ascii: ":"), bytes[26...].elementsEqual("GMT".utf8),
            let month = months.firstIndex(where: { $0.utf8.elementsEqual(bytes[8..<11]) }),
            let time = CivilTime(
                year: bytes.decimal(12..<16), month: month + 1, day: bytes.decimal(5..<7),
                hour: bytes.decimal(17..<19), minute: bytes.decimal(20..<22), second: bytes.decimal(23..<25))
        else { return nil }
        self.init(secondsSince1970: time.secondsSince1970)
    }

    /// Reads `2013-05-24T00:00:00Z`, with any number of fractional digits (Ceph writes nine), which are dropped.
    package init?(iso8601 text: String) {
        guard let time = text.withUTF8Span({ Timestamp(iso8601: $0) }) else { return nil }
        self = time
    }

    init?(iso8601 bytes: Span<UInt8>) {
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            Self.isEnd(bytes.extracting(19..<bytes.count)),
            let time = CivilTime(
                year: bytes.decimal(0..<4), month: bytes.decimal(5..<7), day: bytes.decimal(8..<10),
                hour: bytes.decimal(11..<13), minute: bytes.decimal(14..<16), second: bytes.decimal(17..<19))
        else { return nil }
        self.init(secondsSince1970: time.secondsSince1970)
    }

    /// `Z`, `+00:00` or either behind a fraction.
    private static func isEnd(_ bytes: Span<UInt8>) -> Bool {
        var zone = 0
        if bytes[0] == UInt8(ascii: ".") {
            zone = 1
            while zone < bytes.count, isDigit(bytes[zone]) { zone += 1 }
            guard zone > 1 else { return false }
        }
        return bytes.isEqual("Z", from: zone) || bytes.isEqual("+00:00", from: zone)
    }
}

private let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
private let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
private struct CivilTime {
    let year: Int
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int

    init(_ secondsSince1970: Int) {
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

    static func days(_ secondsSince1970: Int) -> Int {
        (secondsSince1970 >= 0 ? secondsSince1970 : secondsSince1970 - 86_399) / 86_400
    }

    /// - Returns: `nil` when a part is missing or no calendar has such a day.
    init?(year: Int?, month: Int?, day: Int?, hour: Int?, minute: Int?, second: Int?) {
        guard let year, let month, let day, let hour, let minute, let second,
            (1...12).contains(month), day >= 1, hour < 24, minute < 60, second < 60
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
        // The 31st of June would come back as the 1st of July.
        guard CivilTime(secondsSince1970).day == day else { return nil }
    }

    var days: Int {
        let year = month <= 2 ? self.year - 1 : self.year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    var secondsSince1970: Int { days * 86_400 + hour * 3600 + minute * 60 + second }

    /// From Sunday, 0.
    var weekday: Int { ((days + 4) % 7 + 7) % 7 }
}

extension [UInt8] {
    fileprivate mutating func append(year: Int) {
        append(twoDigits: year / 100)
        append(twoDigits: year % 100)
    }

    fileprivate mutating func append(twoDigits number: Int) {
        append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }

    fileprivate mutating func append(day time: CivilTime) {
        append(year: time.year)
        append(twoDigits: time.month)
        append(twoDigits: time.day)
    }

    fileprivate func decimal(_ range: Range<Int>) -> Int? {
        let all = self[...]
        return all.span.decimal(range)
    }
}

extension Span<UInt8> {
    fileprivate func decimal(_ range: Range<Int>) -> Int? {
        var number = 0
        for index in range {
            guard isDigit(self[index]) else { return nil }
            number = number * 10 + Int(self[index] - UInt8(ascii: "0"))
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
