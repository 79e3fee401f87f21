import Synchronization

/// Numbers from 1, for threads.
final class Counter: Sendable {
    private let count = Atomic(0)

    @discardableResult
    func next() -> Int { count.add(1, ordering: .relaxed).newValue }

    var value: Int { count.load(ordering: .relaxed) }
}

/// Says "enough" to threads.
final class Flag: Sendable {
    private let raised = Atomic(false)

    func raise() { raised.store(true, ordering: .relaxed) }

    var isRaised: Bool { raised.load(ordering: .relaxed) }
}
