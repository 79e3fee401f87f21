/// First in, first out: a ring that grows when it is full.
struct RingBuffer<Element> {
    private var slots: [Element?] = Array(repeating: nil, count: 64)
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var first: Element? { slots[head] }

    mutating func append(_ element: Element) {
        if count == slots.count { grow() }
        slots[(head + count) & (slots.count - 1)] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard let first = slots[head].take() else { return nil }
        head = (head + 1) & (slots.count - 1)
        count -= 1
        return first
    }

    /// How many slots there are is a power of two.
    private mutating func grow() {
        slots = Array(slots[head...] + slots[..<head]) + Array(repeating: nil, count: slots.count)
        head = 0
    }
}
