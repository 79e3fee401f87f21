/// First in, first out: a ring that grows when it is full.
struct Queue<Element> {
    private var places: [Element?] = Array(repeating: nil, count: 64)
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var first: Element? { places[head] }

    mutating func append(_ element: Element) {
        if count == places.count { grow() }
        places[(head + count) & (places.count - 1)] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard let first = places[head].take() else { return nil }
        head = (head + 1) & (places.count - 1)
        count -= 1
        return first
    }

    /// How many places there are is a power of two.
    private mutating func grow() {
        places = Array(places[head...] + places[..<head]) + Array(repeating: nil, count: places.count)
        head = 0
    }
}
