/// Tells those who wait that something has changed, so that they need not look again and again.
package final class ChangeFeed: Sendable {
    private struct Readers {
        var last = 0
        var streams: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let readers = Locked(Readers())

    /// One that nothing reads yet.
    package init() {}

    deinit {
        for stream in readers.withLock({ $0.streams.values }) { stream.finish() }
    }

    /// How many read it now.
    package var readerCount: Int { readers.withLock { $0.streams.count } }

    /// - Returns: an element for what changes from now on; changes before it is read are one. It is let go when the task that
    ///   reads it is cancelled, or nothing has it any more, and ends with this object.
    package func changes() -> AsyncStream<Void> {
        let (changes, stream) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let reader = readers.withLock { readers in
            readers.last += 1
            readers.streams[readers.last] = stream
            return readers.last
        }
        stream.onTermination = { [weak self] _ in
            _ = self?.readers.withLock { $0.streams.removeValue(forKey: reader) }
        }
        return changes
    }

    package func send() {
        for stream in readers.withLock({ Array($0.streams.values) }) { stream.yield() }
    }
}
