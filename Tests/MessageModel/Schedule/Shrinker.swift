/// Finds the shortest schedule that still fails.
struct Shrinker {
    /// Whether these steps fail.
    let fails: ([Step]) -> Bool
    /// Schedules that may be run.
    var budget = 3000

    init(fails: @escaping ([Step]) -> Bool) { self.fails = fails }

    /// - Parameter steps: those of a schedule that fails.
    mutating func shrink(_ steps: [Step]) -> [Step] {
        var shortest = steps
        while true {
            let before = shortest
            removeRuns(&shortest)
            simplify(&shortest)
            if shortest == before || budget <= 0 { return shortest }
        }
    }

    private mutating func stillFails(_ steps: [Step]) -> Bool {
        guard budget > 0 else { return false }
        budget -= 1
        return fails(steps)
    }

    /// Leaves out runs of steps, long ones first.
    private mutating func removeRuns(_ steps: inout [Step]) {
        var length = max(1, steps.count / 2)
        while true {
            var start = 0
            while start < steps.count {
                var shorter = steps
                shorter.removeSubrange(start..<min(start + length, steps.count))
                if stillFails(shorter) { steps = shorter } else { start += length }
            }
            if length == 1 { return }
            length /= 2
        }
    }

    private mutating func simplify(_ steps: inout [Step]) {
        for index in steps.indices {
            for simpler in steps[index].simpler {
                var changed = steps
                changed[index] = simpler
                if stillFails(changed) {
                    steps = changed
                    break
                }
            }
        }
    }
}

extension Step {
    /// Steps that are easier to understand; none is simpler than itself in the end.
    fileprivate var simpler: [Step] {
        switch self {
        case .deliver(let device, let packet, let again):
            return [.deliverAll(device: device)]
                + (again ? [.deliver(device: device, packet: packet, again: false)] : [])
                + (packet > 0 ? [.deliver(device: device, packet: 0, again: again)] : [])
        case .send(let device, .some): return [.send(device: device, quotes: nil)]
        case .policy(let device, let policy, true): return [.policy(device: device, policy, history: false)]
        case .pass(let seconds) where seconds > 1:
            return [1, 3600, 86_400].filter { $0 < seconds }.map { .pass(seconds: $0) }
        case .setClock(let device, let seconds) where ![0, 86_400, -86_400].contains(seconds):
            return [.setClock(device: device, seconds: seconds > 0 ? 86_400 : -86_400)]
        default: return []
        }
    }
}
