#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One key of a statement's `Condition`: what its values must be.
///
/// Source: IAM User Guide, "IAM JSON policy elements: Condition operators".
package struct IAMCondition: Sendable, Equatable {
    /// An operator, with what may stand around its name: `ForAllValues:StringLikeIfExists`.
    package struct Test: Sendable, Equatable {
        package enum Quantifier: Sendable { case all, any }

        package let comparison: Comparison
        /// `Not…`: none of the values may fit.
        package let isNegative: Bool
        package let quantifier: Quantifier?
        package let ifExists: Bool
    }

    package enum Comparison: Sendable, Equatable {
        /// With case, and with wildcards or without.
        case text(wildcards: Bool)
        case caselessText
        case flag
        case number(Relation)
        case date(Relation)
        /// Whether an address is of a network.
        case address
        /// Whether the key is absent.
        case null
    }

    package enum Relation: Sendable { case equal, less, lessOrEqual, greater, greaterOrEqual }

    package let test: Test
    /// In lower case.
    package let key: String
    package let values: [String]

    /// ISO 8601, or seconds since 1970.
    package static func date(_ text: String) -> Date? {
        if let seconds = Double(text) { return seconds.isFinite ? Date(timeIntervalSince1970: seconds) : nil }
        return try? Date(text, strategy: .iso8601)
    }
}

extension IAMCondition.Test {
    /// - Returns: `nil` for what is no operator, or for one that is not supported, such as `BinaryEquals`, or
    ///   `ArnLike`, which compares part by part and so allows less than the same pattern as a text.
    package init?(_ name: String) {
        var name = name[...]
        var quantifier: Quantifier?
        for (prefix, meaning) in [("ForAllValues:", Quantifier.all), ("ForAnyValue:", .any)]
        where name.hasPrefix(prefix) {
            quantifier = meaning
            name = name.dropFirst(prefix.count)
        }
        let ifExists = name.hasSuffix("IfExists")
        if ifExists { name = name.dropLast("IfExists".count) }
        guard let (comparison, isNegative) = Self.operators[String(name)] else { return nil }
        guard comparison != .null || quantifier == nil && !ifExists else { return nil }
        self.init(comparison: comparison, isNegative: isNegative, quantifier: quantifier, ifExists: ifExists)
    }

    private static let operators: [String: (IAMCondition.Comparison, Bool)] = [
        "StringEquals": (.text(wildcards: false), false), "StringNotEquals": (.text(wildcards: false), true),
        "StringLike": (.text(wildcards: true), false), "StringNotLike": (.text(wildcards: true), true),
        "StringEqualsIgnoreCase": (.caselessText, false), "StringNotEqualsIgnoreCase": (.caselessText, true),
        "Bool": (.flag, false), "Null": (.null, false),
        "NumericEquals": (.number(.equal), false), "NumericNotEquals": (.number(.equal), true),
        "NumericLessThan": (.number(.less), false), "NumericLessThanEquals": (.number(.lessOrEqual), false),
        "NumericGreaterThan": (.number(.greater), false), "NumericGreaterThanEquals": (.number(.greaterOrEqual), false),
        "DateEquals": (.date(.equal), false), "DateNotEquals": (.date(.equal), true),
        "DateLessThan": (.date(.less), false), "DateLessThanEquals": (.date(.lessOrEqual), false),
        "IpAddress": (.address, false), "NotIpAddress": (.address, true),
        "DateGreaterThan": (.date(.greater), false), "DateGreaterThanEquals": (.date(.greaterOrEqual), false),
    ]
}
