/// How far an outbox is.
public struct OutboxState: Sendable, Equatable {
    public internal(set) var isRunning = false
    public internal(set) var isPaused = false
    /// What is being sent, each with its progress.
    public internal(set) var sending: [OutboxItem] = []
    public internal(set) var unsent = UnsentWork(items: 0, bytes: 0, failed: 0)
    /// Since nothing was left the last time.
    public internal(set) var itemsDone = 0
    /// In bytes, since nothing was left the last time; what has failed does not count.
    public internal(set) var progress = TransferProgress(bytesDone: 0, bytesTotal: 0)
}

/// Passes the state of an outbox on to those who read it.
struct OutboxFeed {
    private var readers: [Int: AsyncStream<OutboxState>.Continuation] = [:]
    private var lastReader = 0
    /// Of those who wait in ``Outbox/idle(for:)``.
    private var sleepers: [Int: AsyncStream<Void>.Continuation] = [:]
    var itemsDone = 0
    var bytesDone: Int64 = 0
    /// Why a sign-out sends no longer, such as when its time is over: nothing is begun any more.
    var endOfSending: CloakroomError?
    /// How often something was added, became due or ended.
    private(set) var changes = 0
    /// Of the store, while nothing has changed in it.
    var sums: (unsent: UnsentWork, failedBytes: Int64)?

    var hasReaders: Bool { !readers.isEmpty }

    mutating func add(_ reader: AsyncStream<OutboxState>.Continuation) -> Int {
        lastReader += 1
        readers[lastReader] = reader
        return lastReader
    }

    mutating func remove(_ reader: Int) { readers[reader] = nil }

    func send(_ state: OutboxState) {
        for reader in readers.values { reader.yield(state) }
    }

    mutating func finish() {
        for reader in readers.values { reader.finish() }
        readers = [:]
        wakeUp()
    }

    mutating func add(_ sleeper: AsyncStream<Void>.Continuation) -> Int {
        lastReader += 1
        sleepers[lastReader] = sleeper
        return lastReader
    }

    mutating func removeSleeper(_ sleeper: Int) { sleepers[sleeper] = nil }

    mutating func wakeUp() {
        changes += 1
        for sleeper in sleepers.values { sleeper.yield() }
    }
}

extension Outbox {
    /// The state now, and each one after it, until the user signs out. States that are not yet read are replaced by newer
    /// ones.
    public func states() -> AsyncStream<OutboxState> {
        let (states, continuation) = AsyncStream.makeStream(of: OutboxState.self, bufferingPolicy: .bufferingNewest(1))
        guard lock != nil else {
            continuation.finish()
            return states
        }
        let reader = feed.add(continuation)
        continuation.onTermination = { [weak self] _ in
            Task { await self?.removeReader(reader) }
        }
        feed.sums = nil
        continuation.yield(state())
        return states
    }

    private func removeReader(_ reader: Int) { feed.remove(reader) }

    private func state() -> OutboxState {
        var state = OutboxState()
        state.isRunning = run != nil
        state.isPaused = isPaused
        state.sending = transfers.sent.keys.sorted().compactMap { id in
            (try? store.row(id: id)).flatMap { $0 }.map(item)
        }
        let sums = feed.sums ?? (try? store.sums()) ?? (state.unsent, 0)
        feed.sums = sums
        state.unsent = sums.unsent
        state.itemsDone = feed.itemsDone
        let moved = state.sending.reduce(Int64(0)) { sum, item in
            if case .sending(let progress) = item.state { sum + progress.bytesDone } else { sum }
        }
        state.progress = TransferProgress(
            bytesDone: feed.bytesDone + moved, bytesTotal: feed.bytesDone + state.unsent.bytes - sums.failedBytes)
        return state
    }

    /// Something was added, removed, or is to be sent again.
    func changed() {
        run?.signal.yield()
        feed.wakeUp()
        publish()
    }

    /// - Parameter isProgress: whether nothing has changed but how far transfers are.
    func publish(isProgress: Bool = false) {
        if !isProgress { feed.sums = nil }
        guard feed.hasReaders else { return }
        feed.send(state())
    }
}
