import CloakroomAWS

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Points in time as people write them.
enum DateArgument {
    /// - Parameter text: ISO 8601 in UTC, such as `2027-01-31T12:00:00Z`; or days or hours from now on, such as `+30d`.
    static func date(_ text: String, from now: Date) -> Date? {
        if let time = Timestamp(iso8601: text) { return time.date }
        let units: [Character: Double] = ["d": 86_400, "h": 3600]
        guard text.hasPrefix("+"), let unit = text.last.flatMap({ units[$0] }),
            let count = UInt16(text.dropFirst().dropLast())
        else { return nil }
        return now.addingTimeInterval(Double(count) * unit)
    }
}
