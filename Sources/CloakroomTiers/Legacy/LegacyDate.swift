import CloakroomAWS
import CloakroomSQLite
import Foundation

/// When a row of an older app was made, in any of the spellings that apps use.
enum LegacyDate {
    /// - Parameter number: since 1970, in seconds, or in milli-, micro- or nanoseconds, which are told by their size.
    static func date(_ number: Double) -> Date? {
        guard number.isFinite, number > 0 else { return nil }
        var seconds = number
        // Seconds reach 10¹¹ in the year 5138, milliseconds were there in 1973.
        while seconds >= 1e11 { seconds /= 1000 }
        return Date(timeIntervalSince1970: seconds)
    }

    /// - Parameter text: a number as above, or `2025-12-25`, `2025-12-25 10:00`, `2025-12-25T10:00:00.5+01:00`. Without
    ///   an offset it is in UTC, as SQLite's own functions and GRDB write it.
    static func date(_ text: String) -> Date? {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if let number = Double(text) { return date(number) }
        var rest = Substring(text)
        let day = rest.prefix(10)
        rest = rest.dropFirst(10)
        guard day.utf8.count == 10 else { return nil }
        guard !rest.isEmpty else { return second(day, "00:00:00") }
        guard rest.first == "T" || rest.first == "t" || rest.first == " " else { return nil }
        rest = rest.dropFirst()
        let time = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ":") }
        rest = rest.dropFirst(time.count)
        guard let start = second(day, time.utf8.count == 5 ? "\(time):00" : time) else { return nil }
        var fraction = 0.0
        if rest.first == "." || rest.first == "," {
            let digits = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
            guard let value = Double("0.\(digits)"), !digits.isEmpty else { return nil }
            fraction = value
            rest = rest.dropFirst(1 + digits.count)
        }
        return offset(rest).map { start + fraction - Double($0) }
    }

    private static func second(_ day: Substring, _ time: some StringProtocol) -> Date? {
        Timestamp(iso8601: "\(day)T\(time)Z")?.date
    }

    /// - Returns: seconds east of UTC.
    private static func offset(_ text: Substring) -> Int? {
        let text = text.drop { $0 == " " }
        if ["", "Z", "z", "UTC", "GMT"].contains(text) { return 0 }
        guard let sign = ["+": 1, "-": -1][text.first] else { return nil }
        let digits = text.dropFirst().filter { $0 != ":" }
        guard digits.count == 2 || digits.count == 4, digits.allSatisfy({ $0.isASCII && $0.isNumber }),
            let hours = Int(digits.prefix(2)), let minutes = Int("0\(digits.dropFirst(2))"), hours <= 14, minutes < 60
        else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}
