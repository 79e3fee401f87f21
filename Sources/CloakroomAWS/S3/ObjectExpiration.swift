import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What `x-amz-expiration` says: when a lifecycle rule will take an object.
///
/// Such as `expiry-date="Fri, 21 Dec 2012 00:00:00 GMT", rule-id="Rule%20for%20testfile.txt"`.
package struct ObjectExpiration: Sendable, Equatable {
    package let date: Date
    package let ruleID: String

    package init(date: Date, ruleID: String) {
        self.date = date
        self.ruleID = ruleID
    }

    /// - Returns: `nil` when no rule is for the object, or the store does not tell.
    init?(_ fields: HeaderFields) {
        guard let date = Self.date(fields) else { return nil }
        self.date = date
        let text = fields["x-amz-expiration"] ?? ""
        let mark = "rule-id=\""
        let start = text.firstRange(of: mark)?.upperBound ?? text.endIndex
        ruleID = String(decoding: PercentEncoding.decode(text[start...].prefix { $0 != "\"" }.utf8), as: UTF8.self)
    }

    /// The date alone.
    static func date(_ fields: HeaderFields) -> Date? {
        let name = "expiry-date=\""
        // Always first; a date is 29 characters long.
        guard let text = fields["x-amz-expiration"], text.hasPrefix(name) else { return nil }
        return Timestamp(http: String(decoding: text.utf8.dropFirst(name.utf8.count).prefix(29), as: UTF8.self))?.date
    }
}

extension StoredObject {
    /// When the bucket's lifecycle rule will remove it, where S3 tells.
    package var expiration: ObjectExpiration? { ObjectExpiration(fields) }
}
