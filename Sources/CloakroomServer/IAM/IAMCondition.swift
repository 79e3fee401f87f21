#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One key of a statement's `Condition`: what its values must be.
///
/// Source: IAM User Guide, "IAM JSON policy elements: Condition operators".
struct IAMCondition: Sendable, Equatable {
    /// An operator, with what may stand around its name: `ForAllValues:StringLikeIfExists`.
    struct Test: Sendable, Equatable {
        enum Quantifier: Sendable { case all, any }

        let comparison: Comparison
        /// `Not…`: none of the values may fit.
        let isNegative: Bool
        let quantifier: Quantifier?
        let ifExists: Bool
    }

    enum Comparison: Sendable, Equatable {
        /// With case, and with wildcards or without.
        case text(wildcards: Bool)
        case caselessText
        case flag
        case number(Relation)
        case date(Relation)
        /// Whether the key is absent.
        case null
    }

    enum Relation: Sendable { case equal, less, lessOrEqual, greater, greaterOrEqual }

    let test: Test
    /// In lower case.
    let key: String
    let values: [String]

    func holds(in context: [String: [String]]) -> Bool {
        let found = context[key] ?? []
        if test.comparison == .null { return values.contains(found.isEmpty ? "true" : "false") }
        guard !found.isEmpty else {
            return test.ifExists || test.quantifier == .all || test.isNegative && test.quantifier == nil
        }
        func fits(_ value: String) -> Bool {
            values.contains { matches(value, $0, context) } != test.isNegative
        }
        return test.quantifier == .any ? found.contains(where: fits) : found.allSatisfy(fits)
    }

    private func matches(_ value: String, _ wanted: String, _ context: [String: [String]]) -> Bool {
        switch test.comparison {
        case .text(let wildcards):
            return IAMPattern(wanted, wildcards: wildcards).filled(from: context)?.matches(value) == true
        case .caselessText:
            return IAMPattern(wanted.lowercased(), wildcards: false).filled(from: context)?
                .matches(value.lowercased()) == true
        case .flag: return value.lowercased() == wanted.lowercased()
        case .number(let relation):
            guard let value = Double(value), let wanted = Double(wanted) else { return false }
            return relation.holds(value, wanted)
        case .date(let relation):
            guard let value = Self.date(value), let wanted = Self.date(wanted) else { return false }
            return relation.holds(value, wanted)
        case .null: return false
        }
    }

    /// ISO 8601, or seconds since 1970.
    private static func date(_ text: String) -> Date? {
        Double(text).map { Date(timeIntervalSince1970: $0) } ?? (try? Date(text, strategy: .iso8601))
    }
}

extension IAMCondition.Test {
    /// - Returns: `nil` for what is no operator, or for one that is not supported, such as `BinaryEquals`, or
    ///   `ArnLike`, which compares part by part and so allows less than the same pattern as a text.
    init?(_ name: String) {
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
        "DateGreaterThan": (.date(.greater), false), "DateGreaterThanEquals": (.date(.greaterOrEqual), false),
    ]
}

extension IAMCondition.Relation {
    fileprivate func holds<Value: Comparable>(_ value: Value, _ wanted: Value) -> Bool {
        switch self {
        case .equal: value == wanted
        case .less: value < wanted
        case .lessOrEqual: value <= wanted
        case .greater: value > wanted
        case .greaterOrEqual: value >= wanted
        }
    }
}
