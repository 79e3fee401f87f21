package import CloakroomAWS

extension LifecyclePlan {
    /// A plan that disables Cloakroom's own rules that delete assets or their older versions, and changes nothing else. The
    /// rules for images of chats go on: what users released is to end.
    package init(
        suspending current: LifecycleConfiguration, _ versioning: BucketVersioning, _ terms: LifecycleTerms
    ) {
        let ours = terms.rules(versioning)
        let formerChats = terms.formerChats(in: current)
        let chats = [terms.chat?.prefix].compactMap(\.self) + formerChats
        var changes: [Change] = []
        let rules = current.rules.map { rule in
            let isOurs = LifecycleTerms.isOurs(rule.id) || ours.contains { $0.meansTheSame(as: rule) }
            let isOfChats = rule.filter.isOfReleased || chats.contains { rule.filter.prefix.hasPrefix($0) }
            guard rule.deletes, isOurs, !isOfChats else {
                changes.append(.kept(rule))
                return rule
            }
            changes += [.removed(rule), .added(rule.disabled)]
            return rule.disabled
        }
        target = LifecycleConfiguration(rules: rules, transitionMinimumSize: current.transitionMinimumSize)
        self.changes = changes
        self.formerChats = formerChats
    }

    /// The rules that delete objects or versions, or archive them, once the plan is carried out.
    package var deleting: [LifecycleRule] { target.rules.filter(\.deletes) }
}

extension LifecycleRule {
    fileprivate var deletes: Bool { isEnabled && !effects.isEmpty }

    fileprivate var disabled: LifecycleRule {
        LifecycleRule(
            xml: XMLNode(xml.name, xml.elements.map { $0.name == "Status" ? XMLNode("Status", "Disabled") : $0 }))
    }
}
