/// SplitMix64: the same dice at every run.
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }
    mutating func isLucky(_ chance: Int, of all: Int) -> Bool { number(0..<all) < chance }
    mutating func element<Value>(_ values: [Value]) -> Value { values[number(0..<values.count)] }

    /// One of these, each as often as its weight says.
    mutating func choice<Value>(_ values: [(weight: Int, value: Value)]) -> Value {
        var rest = number(0..<max(1, values.reduce(0) { $0 + $1.weight }))
        for (weight, value) in values {
            rest -= weight
            if rest < 0 { return value }
        }
        return values[0].value
    }
}
