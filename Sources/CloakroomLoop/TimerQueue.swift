/// Names one timer; stale once it has run.
package struct TimerID: Sendable, Hashable {
    fileprivate let number: UInt64
}

/// A binary heap by deadline. A cancelled timer stays in the heap as a name without a body until its time or until
/// such names are the greater part.
struct TimerQueue {
    private struct Entry {
        let deadline: UInt64
        let number: UInt64
    }

    private var heap: [Entry] = []
    private var bodies: [UInt64: @LoopActor () -> Void] = [:]
    private var next: UInt64 = 0

    var isEmpty: Bool { heap.isEmpty }

    mutating func add(at deadline: UInt64, _ body: @escaping @LoopActor () -> Void) -> TimerID {
        next += 1
        bodies[next] = body
        heap.append(Entry(deadline: deadline, number: next))
        siftUp(heap.count - 1)
        return TimerID(number: next)
    }

    mutating func cancel(_ timer: TimerID) {
        guard bodies.removeValue(forKey: timer.number) != nil else { return }
        if heap.count > 64, heap.count > 2 * bodies.count { compact() }
    }

    /// - Returns: the body of a timer whose deadline has come, earliest first; `nil` when none is due.
    mutating func popDue(now: UInt64) -> (@LoopActor () -> Void)? {
        while let first = heap.first, first.deadline <= now {
            removeFirst()
            if let body = bodies.removeValue(forKey: first.number) { return body }
        }
        return nil
    }

    /// - Returns: rounded up, so that the timer is due after the wait; -1 without any timer.
    mutating func millisecondsUntilNext(now: UInt64) -> Int32 {
        while let first = heap.first, bodies[first.number] == nil { removeFirst() }
        guard let first = heap.first else { return -1 }
        guard first.deadline > now else { return 0 }
        return Int32(clamping: (first.deadline - now + 999_999) / 1_000_000)
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown(0)
    }

    private mutating func compact() {
        heap.removeAll { bodies[$0.number] == nil }
        for index in stride(from: heap.count / 2, through: 0, by: -1) { siftDown(index) }
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0, heap[index].deadline < heap[(index - 1) / 2].deadline {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].deadline < heap[least].deadline {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
