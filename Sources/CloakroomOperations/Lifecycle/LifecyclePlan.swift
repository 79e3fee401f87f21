package import CloakroomAWS

/// What putting the right rules would change in a bucket's configuration.
///
/// A configuration is only ever put whole, so the plan has all of it: rules that ours take the place of are left out, and
/// those that an earlier version put, whatever they are for; all others stay as they came, and so do ours for images of
/// chats behind an earlier prefix.
package struct LifecyclePlan: Sendable {
    package enum Change: Sendable, Equatable {
        case removed(LifecycleRule)
        case added(LifecycleRule)
        case kept(LifecycleRule)
    }

    package let target: LifecycleConfiguration
    package let changes: [Change]
    /// The earlier prefixes of images of chats whose rules stay.
    package let formerChats: [String]

    /// - Parameters:
    ///   - replacesAll: whether no other rule may stay.
    ///   - removesFormerChats: whether no rule for an earlier prefix of images of chats may stay.
    package init(
        _ current: LifecycleConfiguration, _ versioning: BucketVersioning, _ terms: LifecycleTerms, replacesAll: Bool,
        removesFormerChats: Bool = false
    ) {
        let ours = terms.rules(versioning)
        formerChats = replacesAll || removesFormerChats ? [] : terms.formerChats(in: current)
        var changes: [Change] = []
        var rules: [LifecycleRule] = []
        var added = ours
        for rule in current.rules {
            if let index = added.firstIndex(where: { $0.meansTheSame(as: rule) }) {
                added.remove(at: index)
                rules.append(rule)
                changes.append(.kept(rule))
            } else if formerChats.contains(rule.filter.prefix), rule.filter.isOfPrefixAlone || rule.filter.isOfReleased
            {
                rules.append(rule)
                changes.append(.kept(rule))
            } else if replacesAll || LifecycleTerms.isOurs(rule.id)
                || ours.contains(where: { $0.replaces(rule) })
            {
                changes.append(.removed(rule))
            } else {
                rules.append(rule)
                changes.append(.kept(rule))
            }
        }
        target = LifecycleConfiguration(
            rules: rules + added, transitionMinimumSize: current.transitionMinimumSize)
        self.changes = changes + added.map { .added($0) }
    }

    package var changesNothing: Bool {
        changes.allSatisfy { if case .kept = $0 { true } else { false } }
    }
}

extension LifecycleRule {
    /// Whether both do the same to the same objects, whatever their names and the order of their elements.
    package func meansTheSame(as other: LifecycleRule) -> Bool {
        isEnabled == other.isEnabled && filter == other.filter && expiration == other.expiration
            && noncurrentExpiration == other.noncurrentExpiration && abortMultipartDays == other.abortMultipartDays
            && transitions == other.transitions && unknown.isEmpty && other.unknown.isEmpty
    }

    /// Whether a rule is about the same objects and says nothing but what this one says, perhaps with other numbers; or
    /// bears its name.
    func replaces(_ other: LifecycleRule) -> Bool {
        if !id.isEmpty, id == other.id { return true }
        guard filter == other.filter, other.unknown.isEmpty, other.transitions.isEmpty else { return false }
        if case .date = other.expiration { return false }
        // What tidies up is in no place of what deletes objects.
        return expirationDays != nil || other.expirationDays == nil && other.noncurrentExpiration == nil
    }
}
