import CloakroomMessages

/// A law of the joins, for any values.
enum Laws {
    private struct Values {
        var dice: Dice
        let names = ["a", "b", "c"].compactMap { ParticipantID(rawValue: $0) }

        /// Few different values, so that ties and equal places are common.
        mutating func policy() -> MessageRetentionPolicy {
            dice.element([.noStorage, .oneHour, .oneDay, .oneWeek, .keep])
        }

        mutating func cuts() -> RetentionCuts {
            var cuts = RetentionCuts()
            for _ in 0..<dice.number(0..<4) {
                let seconds = dice.element(RetentionCuts.durations)
                cuts.add(RetentionCuts.Cut(seconds: seconds, before: Milliseconds(dice.number(1..<5))))
            }
            return cuts
        }

        mutating func register() -> RetentionRegister {
            let number = Int64(dice.number(0..<4))
            let version = RegisterVersion(number) ?? RegisterVersion(legacyTime: Milliseconds(dice.number(0..<3)))
            return RetentionRegister(version: version, policy: policy(), cuts: cuts())
        }

        mutating func state() -> RetentionState {
            var state = RetentionState()
            for name in names where dice.isLucky(2, of: 3) { state.join(register(), of: name) }
            for name in names where dice.isLucky(1, of: 6) { state.laterVersions.insert(name) }
            return state
        }
    }

    /// - Returns: the first case that breaks a law; `nil` when none does.
    static func firstBroken(cases: Int, seed: UInt64) -> String? {
        var values = Values(dice: Dice(seed: seed))
        for _ in 0..<cases {
            let cuts = (values.cuts(), values.cuts(), values.cuts())
            if let broken = broken(cuts, { $0.joined($1) }) { return broken }
            let registers = (values.register(), values.register(), values.register())
            if let broken = broken(registers, { $0.joined($1) }) { return broken }
            let states = (values.state(), values.state(), values.state())
            if let broken = broken(states, { $0.joined($1) }) { return broken }
            let policies = (values.policy(), values.policy(), values.policy())
            if let broken = broken(policies, { $0.stricter($1) }) { return broken }
        }
        return nil
    }

    private static func broken<Value: Equatable>(
        _ values: (Value, Value, Value), _ join: (Value, Value) -> Value
    ) -> String? {
        let (first, second, third) = values
        let both = join(first, second)
        if both != join(second, first) { return "\(first) and \(second) do not commute" }
        if join(first, first) != first { return "\(first) is not idempotent" }
        if join(both, second) != both { return "\(first) does not absorb \(second) twice" }
        if join(both, third) != join(first, join(second, third)) { return "\(values) do not associate" }
        return nil
    }
}
