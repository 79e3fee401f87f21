import Synchronization

/// What a progress observer was told.
final class Seen: Sendable {
    private let values = Mutex<[(done: Int, total: Int)]>([])

    func add(_ done: Int, _ total: Int) { values.withLock { $0.append((done, total)) } }

    var last: (done: Int, total: Int)? { values.withLock { $0.last } }
    var count: Int { values.withLock { $0.count } }
}
