import Synchronization

/// Numbers that spread work over time, and are fit for nothing else: the system's generator is a system call each.
///
/// Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (SplitMix64).
enum Jitter {
    private static let state = Atomic<UInt64>(.random(in: .min ... .max))

    /// - Returns: from 0 up to, but not including, 1.
    static func next() -> Double {
        var number = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((number ^ (number >> 31)) >> 11) * 0x1p-53
    }
}
