import Foundation

/// Seconds since 1970 in the four spellings that S3 uses.
struct S3Timestamp: Equatable {
    let seconds: Double

    init(_ seconds: Double) { self.seconds = seconds }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// `Fri, 23 Dec 2012 00:00:00 GMT`; other forms of HTTP dates are not needed here.
    init?(http text: String) {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int(words[1]), let year = Int(words[3]),
            let month = Self.months.firstIndex(of: String(words[2]))
        else { return nil }
        let time = words[4].split(separator: ":").compactMap { Int($0) }
        guard time.count == 3 else { return nil }
        self.init(Self.seconds(year, month + 1, day, time))
    }

    /// `20130524T000000Z`.
    init?(basic text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
        let digits = (bytes[..<8] + bytes[9..<15]).map { Int($0) - 0x30 }
        guard digits.allSatisfy((0...9).contains) else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        self.init(Self.seconds(number(0..<4), number(4..<6), number(6..<8), [8..<10, 10..<12, 12..<14].map(number)))
    }

    /// `2013-05-24T00:00:00Z` or with a fraction.
    init?(iso text: String) {
        let plain = text.replacing(/\.\d+/, with: "").filter { $0 != "-" && $0 != ":" }
        self.init(basic: plain)
    }

    var http: String {
        let (parts, time) = (civil, clock)
        let name = Self.weekdays[((days % 7) + 7) % 7]
        return "\(name), \(two(parts.day)) \(Self.months[parts.month - 1]) \(parts.year) "
            + time.map(two).joined(separator: ":") + " GMT"
    }

    /// S3 keeps whole seconds and writes three zeros.
    var iso: String {
        let parts = civil
        return "\(parts.year)-\(two(parts.month))-\(two(parts.day))T" + clock.map(two).joined(separator: ":") + ".000Z"
    }

    var basic: String {
        let parts = civil
        return "\(parts.year)\(two(parts.month))\(two(parts.day))T" + clock.map(two).joined() + "Z"
    }

    // MARK: Calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms")

    private var whole: Int { Int(seconds.rounded(.down)) }
    private var days: Int { Int((Double(whole) / 86_400).rounded(.down)) }

    private var clock: [Int] {
        let rest = whole - days * 86_400
        return [rest / 3600, rest / 60 % 60, rest % 60]
    }

    private var civil: (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let ofEra = shifted % 146_097
        let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * year + year / 4 - year / 100)
        let month = (5 * ofYear + 2) / 153
        let isLate = month >= 10
        return (year + era * 400 + (isLate ? 1 : 0), isLate ? month - 9 : month + 3, ofYear - (153 * month + 2) / 5 + 1)
    }

    private static func seconds(_ year: Int, _ month: Int, _ day: Int, _ time: [Int]) -> Double {
        let year = month <= 2 ? year - 1 : year
        let ofEra = year % 400
        let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let days = year / 400 * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
        return Double(days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2])
    }

    private func two(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
}
