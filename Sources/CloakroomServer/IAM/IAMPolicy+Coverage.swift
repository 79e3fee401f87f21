extension IAMPolicy {
    /// Whether everything that the other policy allows is allowed by this one, for all requests there could be.
    ///
    /// Shown pattern by pattern: each action on each resource there must lie within one statement here, under no
    /// condition that the other does not set as well. `false` means "not shown": an opposite such as `NotAction`, a
    /// denial here, or a cover of two statements together is beyond it.
    func covers(_ other: IAMPolicy) -> Bool {
        guard statements.allSatisfy(\.isAllow) else { return false }
        return other.statements.filter(\.isAllow).allSatisfy { narrow in
            guard let resources = narrow.resources, !resources.isOpposite, !narrow.actions.isOpposite else {
                return false
            }
            return narrow.actions.patterns.allSatisfy { action in
                resources.patterns.allSatisfy { resource in
                    statements.contains { wide in
                        wide.actions.covers(action) && wide.resources?.covers(resource) == true
                            && wide.principals == nil
                            && wide.conditions.allSatisfy { $0.follows(from: narrow.conditions) }
                    }
                }
            }
        }
    }
}

extension IAMPolicy.Choice {
    fileprivate func covers(_ pattern: IAMPattern) -> Bool {
        !isOpposite && patterns.contains { $0.covers(pattern) }
    }
}

extension IAMCondition {
    /// Whether this holds for every request for which one of those holds.
    fileprivate func follows(from conditions: [IAMCondition]) -> Bool {
        conditions.contains { narrow in
            guard narrow.key == key else { return false }
            if narrow == self { return true }
            // A key held to fewer texts is held to these as well. Only plain tests: `…IfExists` and the quantifiers
            // hold for requests without the key.
            guard case .text(let wildcards) = test.comparison, case .text(let narrowWildcards) = narrow.test.comparison,
                test.isPlain, narrow.test.isPlain
            else { return false }
            return narrow.values.allSatisfy { value in
                values.contains {
                    IAMPattern($0, wildcards: wildcards).covers(IAMPattern(value, wildcards: narrowWildcards))
                }
            }
        }
    }
}

extension IAMCondition.Test {
    fileprivate var isPlain: Bool { !isNegative && quantifier == nil && !ifExists }
}
