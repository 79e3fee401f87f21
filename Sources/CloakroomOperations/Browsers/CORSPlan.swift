package import CloakroomAWS
package import CloakroomServer

/// What putting the rule for `web.origins` would change in a bucket's configuration.
///
/// A configuration is only ever put whole, so the plan has all of it: earlier rules of ours are left out, all others stay as
/// they came. Ours comes first where another is for one of the same origins, as a store takes the first that is.
package struct CORSPlan: Sendable {
    package enum Change: Sendable, Equatable {
        case removed(CORSRule)
        case added(CORSRule)
        case kept(CORSRule)
    }

    package let target: CORSConfiguration
    package let changes: [Change]

    package init(_ current: CORSConfiguration, _ web: Settings.Web) {
        let ours = BucketRule.rule(web)
        let kept = ours.flatMap { Self.index(of: $0, in: current) }
        var rules: [CORSRule] = []
        var changes: [Change] = []
        for (index, rule) in current.rules.enumerated() {
            guard index == kept || !BucketRule.isOurs(rule) else {
                changes.append(.removed(rule))
                continue
            }
            rules.append(rule)
            changes.append(.kept(rule))
        }
        if let ours, kept == nil {
            rules.insert(ours, at: 0)
            changes.insert(.added(ours), at: 0)
        }
        target = CORSConfiguration(rules: rules)
        self.changes = changes
    }

    package var changesNothing: Bool {
        changes.allSatisfy { if case .kept = $0 { true } else { false } }
    }

    /// Whether a bucket has the rules of the plan; stores may leave out names.
    package func isDone(in now: CORSConfiguration) -> Bool {
        now.rules.count == target.rules.count
            && zip(now.rules, target.rules).allSatisfy { $0 == $1 || $0.meansTheSame(as: $1) }
    }

    /// - Returns: where the rule is in force already.
    private static func index(of rule: CORSRule, in current: CORSConfiguration) -> Int? {
        guard let index = current.rules.firstIndex(where: { $0.meansTheSame(as: rule) }) else { return nil }
        let others = current.rules[..<index].filter { !BucketRule.isOurs($0) }
        let isHidden = others.contains { other in rule.origins.contains { other.permits(origin: $0) } }
        return isHidden ? nil : index
    }
}
