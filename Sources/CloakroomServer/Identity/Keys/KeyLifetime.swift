import CloakroomHTTP

/// How long a fetched key set counts as fresh: as its response says, within bounds of ours.
///
/// Source: RFC 9111 §4.2.1 and §5.1, of which a private cache for one document needs `max-age`, `no-store`, `no-cache`
/// and `Age`.
enum KeyLifetime {
    static let bounds: ClosedRange<Int> = 60...86_400
    /// When the response does not say.
    static let standard = 900

    /// - Returns: whole seconds, within ``bounds``.
    static func seconds(_ fields: HeaderFields) -> Int {
        var maximumAge: Int?
        for field in fields where field.name.lowercased() == "cache-control" {
            for directive in field.value.lowercased().split(separator: ",") {
                let parts = directive.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\"" } }
                switch parts.first {
                case "no-store", "no-cache": return bounds.lowerBound
                case "max-age": maximumAge = parts.dropFirst().first.flatMap(count) ?? maximumAge
                default: break
                }
            }
        }
        guard let maximumAge else { return standard }
        let age = fields["Age"].flatMap { count($0.filter { $0 != " " }) } ?? 0
        return min(max(maximumAge - age, bounds.lowerBound), bounds.upperBound)
    }

    /// A delta-seconds (RFC 9111 §1.2.2); what is larger than we can count is as much as we count to.
    private static func count(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return min(Int(text) ?? .max, 1 << 31)
    }
}
