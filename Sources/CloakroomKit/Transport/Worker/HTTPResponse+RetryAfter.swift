import CloakroomAWS
import Foundation

extension HTTPResponse {
    /// How long to wait before the next request: `Retry-After` in seconds or as a date (RFC 9110 §10.2.3), else until
    /// the last of the used-up windows of `RateLimit` begins anew (draft-ietf-httpapi-ratelimit-headers).
    ///
    /// - Parameter now: the server's time, when the response has no `Date`.
    func retryAfter(now: Date) -> Duration? {
        if let text = self["Retry-After"]?.trimmingCharacters(in: .whitespaces) {
            if let seconds = UInt32(text) { return .seconds(Int64(seconds)) }
            if let end = Timestamp(http: text)?.date {
                let now = self["Date"].flatMap(Timestamp.init(http:))?.date ?? now
                return .seconds(Int64(max(0, end.timeIntervalSince(now).rounded(.up))))
            }
        }
        let items = fields.filter { $0.name.caseInsensitiveCompare("RateLimit") == .orderedSame }.flatMap {
            RateLimitItem.list($0.value)
        }
        return items.filter { $0.remaining == 0 }.compactMap(\.reset).max().map { .seconds(Int64($0)) }
    }
}

/// One window of `RateLimit`, such as `"renew";r=0;t=1800`.
struct RateLimitItem: Equatable {
    /// Requests left; `nil` where it is not given.
    var remaining: Int?
    /// Seconds until the window begins anew.
    var reset: Int?

    /// A list of structured fields (RFC 9651 §3.1) whose items are strings with parameters; what is none is left out.
    static func list(_ text: String) -> [RateLimitItem] { split(text, at: ",").compactMap(RateLimitItem.init) }

    private init?(_ text: String) {
        let parts = Self.split(text, at: ";")
        guard let first = parts.first, first.count >= 2, first.hasPrefix("\""), first.hasSuffix("\"") else {
            return nil
        }
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, let number = UInt32(pair[1]) else { continue }
            switch pair[0] {
            case "r": remaining = Int(number)
            case "t": reset = Int(number)
            default: continue
            }
        }
    }

    /// Commas and semicolons inside quotation marks separate nothing.
    private static func split(_ text: String, at separator: Character) -> [String] {
        var parts = [""]
        var isQuoted = false
        for character in text.prefix(4096) {
            if character == "\"" { isQuoted.toggle() }
            if character == separator, !isQuoted {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        return parts.map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
