/// Passes each state of a view model on to those who read them.
@MainActor
package final class StateFeed<State: Sendable> {
    private var readers: [Int: AsyncStream<State>.Continuation] = [:]
    private var nextReader = 0

    /// One that nothing reads yet.
    package init() {}

    /// - Returns: `state`, and what is sent from now on; it ends with this object.
    package func states(
        from state: State, buffering policy: AsyncStream<State>.Continuation.BufferingPolicy
    ) -> AsyncStream<State> {
        let (states, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: policy)
        let reader = nextReader
        nextReader += 1
        readers[reader] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { @MainActor in self?.readers[reader] = nil }
        }
        continuation.yield(state)
        return states
    }

    package func send(_ state: State) {
        for reader in readers.values { reader.yield(state) }
    }

    deinit {
        for reader in readers.values { reader.finish() }
    }
}
