/// First in, first out, without moving what is left.
struct Queue<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element) { elements.append(element) }

    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func popFirst() -> Element? {
        guard let first else { return nil }
        removeFirst()
        return first
    }

    mutating func removeFirst() {
        elements[head] = nil
        head += 1
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity < 65_536)
            head = 0
        } else if head > 4096, head > elements.count / 2 {
            elements.removeFirst(head)
            head = 0
        }
    }
}
