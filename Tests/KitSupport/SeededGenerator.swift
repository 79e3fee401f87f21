package import Foundation

/// Random numbers that are the same in each run (splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Eight of them at a time.
    package mutating func bytes(_ count: Int) -> Data {
        let words = (0..<(count + 7) / 8).map { _ in next() }
        return words.withUnsafeBytes { Data($0.prefix(count)) }
    }
}

extension Data {
    /// Bytes that no other name has, and that are the same each time.
    package static func numbered(_ number: Int, count: Int) -> Data {
        var generator = SeededGenerator(seed: UInt64(bitPattern: Int64(number)) &* 0xD134_2543_DE82_EF95)
        return generator.bytes(count)
    }

    /// Bytes that no other name has, and that are the same each time.
    package static func named(_ name: String, count: Int) -> Data {
        // FNV-1a (Fowler, Noll and Vo, 1991).
        let seed = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var generator = SeededGenerator(seed: seed)
        return generator.bytes(count)
    }
}
