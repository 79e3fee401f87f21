@testable import CloakroomRedis

/// Which primary of a cluster has each slot.
struct ClusterMap {
    /// Where the primary of each shard is among the nodes.
    private(set) var primaries: [Int]
    private(set) var epoch = 1
    /// Grows with each change.
    private(set) var version = 1
    private(set) var ranges: [(slots: ClosedRange<Int>, shard: Int)] = []
    private var shards: [UInt8]

    init(primaries: [Int]) {
        self.primaries = primaries
        let count = primaries.count
        shards = (0..<HashSlot.count).map { UInt8($0 * count / HashSlot.count) }
        setRanges()
    }

    static func slot(_ key: [UInt8]) -> Int { HashSlot(of: key).number }

    func primary(of slot: Int) -> Int { primaries[Int(shards[slot])] }

    mutating func replace(_ primary: Int, by other: Int) {
        primaries = primaries.map { $0 == primary ? other : $0 }
        epoch += 1
        version += 1
    }

    mutating func move(_ slots: Set<Int>, to shard: Int) {
        for slot in slots { shards[slot] = UInt8(shard) }
        epoch += 1
        version += 1
        setRanges()
    }

    private mutating func setRanges() {
        ranges = []
        var first = 0
        for slot in 1...shards.count where slot == shards.count || shards[slot] != shards[first] {
            ranges.append((first...(slot - 1), Int(shards[first])))
            first = slot
        }
    }
}

/// Slots whose keys are on their way from one primary to another.
struct SlotMigration {
    let slots: Set<Int>
    /// Where they are among the nodes.
    let source: Int
    let target: Int
}
