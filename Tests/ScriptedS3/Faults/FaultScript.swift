/// Which request is to meet which fault.
package struct FaultRule: Sendable {
    package var fault: S3Fault
    /// `nil` for all.
    package var operation: S3Operation?
    /// `nil` for all.
    package var key: String?
    /// Requests that match but are let through before.
    package var skip: Int
    /// How many it meets; `nil` without end.
    package var times: Int?

    package init(
        _ fault: S3Fault, on operation: S3Operation? = nil, key: String? = nil, skip: Int = 0, times: Int? = nil
    ) {
        self.fault = fault
        self.operation = operation
        self.key = key
        self.skip = skip
        self.times = times
    }
}

/// Faults at random, the same at every run: the dice depend on the seed, the operation, the key and how often it was
/// asked for, not on who comes first.
package struct FaultMix: Sendable {
    /// Of all requests, from 0 to 1.
    package var share: Double
    package var seed: UInt64
    package var faults: [S3Fault]

    package init(share: Double, seed: UInt64, faults: [S3Fault] = S3Fault.allCases) {
        self.share = share
        self.seed = seed
        self.faults = faults
    }

    func fault(_ operation: S3Operation, _ key: String, visit: Int) -> S3Fault? {
        var hash = seed ^ 0xCBF2_9CE4_8422_2325
        for byte in "\(operation.rawValue)/\(visit)/\(key)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        guard Self.unit(&hash) < share else { return nil }
        var point = Self.unit(&hash) * faults.reduce(0) { $0 + $1.weight }
        for fault in faults {
            point -= fault.weight
            if point < 0 { return fault }
        }
        return faults.last
    }

    /// SplitMix64, as a number from 0 to 1.
    private static func unit(_ state: inout UInt64) -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ (mixed >> 31)) >> 11) / Double(1 << 53)
    }
}

struct FaultScript {
    private struct Visit: Hashable {
        let operation: S3Operation
        let key: String
    }

    var rules: [FaultRule] = []
    var mix: FaultMix? { didSet { visits = [:] } }
    private(set) var injectedFaults: [S3Fault: Int] = [:]
    private var visits: [Visit: Int] = [:]

    /// Counts the visit. Rules go before the mix, in their order.
    mutating func pick(_ operation: S3Operation, _ key: String) -> S3Fault? {
        let fault = scripted(operation, key) ?? mixed(operation, key)
        if let fault { injectedFaults[fault, default: 0] += 1 }
        return fault
    }

    private mutating func scripted(_ operation: S3Operation, _ key: String) -> S3Fault? {
        for index in rules.indices {
            let rule = rules[index]
            guard rule.operation == nil || rule.operation == operation, rule.key == nil || rule.key == key,
                rule.times != 0
            else { continue }
            guard rule.skip == 0 else {
                rules[index].skip -= 1
                continue
            }
            if let times = rule.times { rules[index].times = times - 1 }
            return rule.fault
        }
        return nil
    }

    private mutating func mixed(_ operation: S3Operation, _ key: String) -> S3Fault? {
        guard let mix else { return nil }
        let visit = Visit(operation: operation, key: key)
        visits[visit, default: 0] += 1
        return mix.fault(operation, key, visit: visits[visit] ?? 0)
    }
}
