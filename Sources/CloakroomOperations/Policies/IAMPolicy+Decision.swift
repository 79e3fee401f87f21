import CloakroomServer

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A request to AWS: who does what with which resource, and what else IAM knows of it.
struct IAMRequest: Sendable, Equatable {
    /// Such as `s3:GetObject`.
    var action: String
    var resource: String
    /// The ARN of the caller; only trust policies look at it.
    var principal = ""
    /// Condition keys in lower case, such as `s3:prefix`, each with its values.
    private(set) var context: [String: [String]] = [:]

    init(_ action: String, _ resource: String, principal: String = "", context: [String: [String]] = [:]) {
        self.action = action
        self.resource = resource
        self.principal = principal
        for (key, values) in context { self.context[key.lowercased()] = values }
    }
}

/// What policies say to a request.
enum IAMDecision: Sendable, Equatable {
    case allowed
    /// No statement speaks of it.
    case notAllowed
    /// A statement forbids it, whatever others allow.
    case denied
}

extension IAMPolicy {
    /// An explicit denial wins over everything that allows.
    func decision(on request: IAMRequest) -> IAMDecision {
        let applicable = statements.filter { $0.applies(to: request) }
        if applicable.contains(where: { !$0.isAllow }) { return .denied }
        return applicable.isEmpty ? .notAllowed : .allowed
    }

    func allows(_ request: IAMRequest) -> Bool { decision(on: request) == .allowed }
}

extension IAMPolicy.Statement {
    fileprivate func applies(to request: IAMRequest) -> Bool {
        // IAM compares actions without regard to case.
        guard actions.matches(request.action.lowercased(), context: [:]) else { return false }
        if let resources, !resources.matches(request.resource, context: request.context) { return false }
        if let principals, !principals.contains(where: { $0 == "*" || $0 == request.principal }) { return false }
        return conditions.allSatisfy { $0.holds(in: request.context) }
    }
}

extension IAMPolicy.Choice {
    fileprivate func matches(_ text: String, context: [String: [String]]) -> Bool {
        patterns.contains { $0.filled(from: context)?.matches(text) == true } != isOpposite
    }
}

extension IAMPattern {
    /// The pattern with each variable's value in its place, in which nothing is a wildcard.
    ///
    /// - Returns: `nil` when the request lacks a variable: then the statement is not about it.
    fileprivate func filled(from context: [String: [String]]) -> IAMPattern? {
        var filled: [Piece] = []
        filled.reserveCapacity(pieces.count)
        for piece in pieces {
            guard case .variable(let name, let standard) = piece else {
                filled.append(piece)
                continue
            }
            let values = context[name] ?? []
            guard let value = values.count == 1 ? values[0] : standard else { return nil }
            filled += value.unicodeScalars.map(Piece.plain)
        }
        return IAMPattern(pieces: filled)
    }
}

extension IAMCondition {
    fileprivate func holds(in context: [String: [String]]) -> Bool {
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
        case .address:
            guard let value = IPNetwork(value), let wanted = IPNetwork(wanted) else { return false }
            return wanted.contains(value)
        case .null: return false
        }
    }
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
