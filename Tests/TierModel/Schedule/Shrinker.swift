/// Finds the shortest schedule that still fails.
struct Shrinker {
    /// Whether a schedule fails.
    let fails: ([Step]) throws -> Bool
    /// Schedules that may be run.
    var budget = 1500

    init(budget: Int = 1500, fails: @escaping ([Step]) throws -> Bool) {
        self.fails = fails
        self.budget = budget
    }

    /// - Parameter steps: those of a schedule that fails.
    mutating func shrink(_ steps: [Step]) throws -> [Step] {
        var shortest = steps
        while true {
            let before = shortest
            try removeRuns(&shortest)
            try simplify(&shortest)
            if shortest == before || budget <= 0 { return shortest }
        }
    }

    private mutating func stillFails(_ steps: [Step]) throws -> Bool {
        guard budget > 0 else { return false }
        budget -= 1
        return try fails(steps)
    }

    /// Leaves out runs of steps, long ones first.
    private mutating func removeRuns(_ steps: inout [Step]) throws {
        var length = max(1, steps.count / 2)
        while true {
            var start = 0
            while start < steps.count {
                var shorter = steps
                shorter.removeSubrange(start..<min(start + length, steps.count))
                if try stillFails(shorter) { steps = shorter } else { start += length }
            }
            if length == 1 { return }
            length /= 2
        }
    }

    private mutating func simplify(_ steps: inout [Step]) throws {
        for index in steps.indices {
            for simpler in steps[index].simpler {
                var changed = steps
                changed[index] = simpler
                if try stillFails(changed) {
                    steps = changed
                    break
                }
            }
        }
    }
}

extension Step {
    /// Steps that are easier to understand, the easiest first; none is simpler than itself in the end.
    fileprivate var simpler: [Step] {
        switch self {
        case .turn(let choice, let outcome):
            var steps: [Step] = [.drain]
            if outcome != .success { steps.append(.turn(choice, .success)) }
            if choice > 0 { steps += [.turn(0, outcome), .turn(choice - 1, outcome)] }
            return steps
        case .begin(let device, let process, let operation):
            return (device > 0 ? [.begin(device: device - 1, process: process, operation)] : [])
                + (process > 0 ? [.begin(device: device, process: 0, operation)] : [])
        case .advance(let device, let calls):
            return [.drain]
                + (calls > 1
                    ? [
                        .advance(device: device, calls: 1), .advance(device: device, calls: calls / 2),
                        .advance(device: device, calls: calls - 1),
                    ] : [])
        case .advanceUntil: return [.drain]
        case .killAtStep(let device, let count): return count > 1 ? [.kill(device: device)] : []
        default: return []
        }
    }
}
