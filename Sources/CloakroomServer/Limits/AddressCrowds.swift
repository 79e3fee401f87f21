import CloakroomLoop

/// Finds addresses at which credentials or sessions of many users are requested, as one who holds stolen tokens does.
///
/// In bounded memory, and without an address in any metric: a slot for an address at a time, with 64 bits for its users, of
/// whom each sets one. It counts too few where addresses share a slot, where users share a bit, and where other workers serve
/// the same address.
struct AddressCrowds {
    /// So many bits set are about 24 users (-64 × ln(1 - 20 / 64)).
    static let crowd = 20
    static let period: Duration = .seconds(600)
    private static let slotCount = 1024

    private struct Slot {
        var address = 0
        var users: UInt64 = 0
    }

    /// Empty until the first user is noted.
    private var slots: [Slot] = []
    private var currentPeriod: UInt64 = 0

    /// - Returns: whether this user makes the address a crowded one, once in a period.
    mutating func note(_ user: String, at address: String, now: UInt64 = Monotonic.now) -> Bool {
        let period = now / Self.period.nanoseconds
        if period != currentPeriod || slots.isEmpty {
            slots = Array(repeating: Slot(), count: Self.slotCount)
            currentPeriod = period
        }
        // Hashes differ from process to process: no client can choose its slot or its bit.
        let name = address.hashValue
        let index = Int(UInt(bitPattern: name) % UInt(Self.slotCount))
        if slots[index].address != name {
            // An address with several users keeps its slot.
            guard slots[index].users.nonzeroBitCount < 2 else { return false }
            slots[index] = Slot(address: name)
        }
        let before = slots[index].users
        slots[index].users |= 1 << (UInt64(bitPattern: Int64(user.hashValue)) >> 58)
        return slots[index].users.nonzeroBitCount == Self.crowd && before.nonzeroBitCount == Self.crowd - 1
    }
}
