import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A second in UTC, in the spellings that AWS uses.
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
        return Self.text(16) { text in
            text.append(day: time)
            text.append(UInt8(ascii: "T"))
            text.append(twoDigits: time.hour)
            text.append(twoDigits: time.minute)
            text.append(twoDigits: time.second)
            text.append(UInt8(ascii: "Z"))
        }
    }

    /// `2013-05-24T00:00:00Z`
    package var iso8601: String {
        Self.text(20) { CivilTime(secondsSince1970).appendISO8601(to: &$0) }
    }

    var daysSince1970: Int { CivilTime.days(secondsSince1970) }

    /// As in a credential scope: `20130524`.
    package var day: String {
        Self.text(8) { $0.append(day: CivilTime(secondsSince1970)) }
    }

    /// As in `Last-Modified` (RFC 9110 §5.6.7): `Fri, 24 May 2013 00:00:00 GMT`.
    package var http: String {
        let time = CivilTime(secondsSince1970)
        return Self.text(29) { text in
            text.append(constant: weekdays[time.weekday])
            text.append(constant: ", ")
            text.append(twoDigits: time.day)
            text.append(constant: " ")
            text.append(constant: months[time.month - 1])
            text.append(constant: " ")
            text.append(year: time.year)
            text.append(constant: " ")
            time.appendTime(to: &text)
            text.append(constant: " GMT")
        }
    }

    private static func text(_ count: Int, _ write: (inout OutputSpan<UInt8>) -> Void) -> String {
        var text: [UInt8] = []
        text.append(addingCapacity: count) { write(&$0) }
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
        guard let time = CivilTime(iso8601: bytes) else { return nil }
        self.init(secondsSince1970: time.secondsSince1970)
    }
}

private let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
private let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

extension OutputSpan<UInt8> {
    fileprivate mutating func append(day time: CivilTime) {
        append(year: time.year)
        append(twoDigits: time.month)
        append(twoDigits: time.day)
    }

    fileprivate mutating func append(constant text: String) {
        for byte in text.utf8 { append(byte) }
    }
}

extension [UInt8] {
    fileprivate func decimal(_ range: Range<Int>) -> Int? {
        let all = self[...]
        return all.span.decimal(range)
    }
}
