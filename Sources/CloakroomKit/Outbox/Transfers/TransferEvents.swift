import Foundation

/// The events of a carrier, for one reader after another.
///
/// Ends of transfers that come while nothing reads are kept for the next reader; progress is not.
///
/// `@unchecked`: a lock guards what changes; `Mutex` is not there on the systems that the kit supports.
final class TransferEvents: @unchecked Sendable {
    private let lock = NSLock()
    private var reader: AsyncStream<TransferEvent>.Continuation?
    /// Ends that nothing has read.
    private var kept: [TransferEvent] = []

    deinit { reader?.finish() }

    func send(_ event: TransferEvent) {
        lock.withLock {
            if case .enqueued? = reader?.yield(event) { return }
            // The task that read was cancelled: its stream takes nothing any more.
            reader = nil
            if case .ended = event { kept.append(event) }
        }
    }

    /// - Returns: what was kept, and what comes from now on; an earlier stream ends.
    func stream() -> AsyncStream<TransferEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: TransferEvent.self)
        lock.withLock {
            reader?.finish()
            reader = continuation
            for event in kept { continuation.yield(event) }
            kept = []
        }
        return stream
    }
}
