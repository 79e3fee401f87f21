import CloakroomKit
import Foundation

/// One fetch of a photo, for however many callers.
final class PhotoFetch: Sendable {
    let task: Task<URL, any Error>
    let progress: FetchProgress

    init(_ body: @escaping @Sendable (FetchProgress) async throws -> URL) {
        let progress = FetchProgress()
        self.progress = progress
        task = Task {
            defer { progress.end() }
            return try await body(progress)
        }
    }

    /// Waits for it as long as the caller wants to; it goes on without the caller.
    func file(within: Duration) async throws -> URL {
        let task = task
        return try await withThrowingTaskGroup(of: URL?.self) { group in
            // Not the task itself: the end of a group waits for its children.
            let end = AsyncThrowingStream<URL, any Error> { continuation in
                let waiting = Task {
                    do {
                        continuation.yield(try await task.value)
                        continuation.finish()
                    } catch { continuation.finish(throwing: error) }
                }
                continuation.onTermination = { _ in waiting.cancel() }
            }
            group.addTask {
                for try await file in end { return file }
                throw CancellationError()
            }
            group.addTask {
                try await Task.sleep(for: within)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let file = first else {
                throw CloakroomError(.timedOut, "the photo is still on its way")
            }
            return file
        }
    }
}

/// How far a fetch is, for however many observers.
///
/// `@unchecked`: a lock guards what changes.
final class FetchProgress: @unchecked Sendable {
    private let lock = NSLock()
    private var observers: [AsyncStream<Double>.Continuation] = []
    private var last: Double?
    private var isOver = false

    func report(_ progress: TransferProgress) {
        guard progress.bytesTotal > 0 else { return }
        let fraction = Double(progress.bytesDone) / Double(progress.bytesTotal)
        lock.withLock {
            last = fraction
            for observer in observers { observer.yield(fraction) }
        }
    }

    func end() {
        lock.withLock {
            isOver = true
            for observer in observers { observer.finish() }
            observers = []
        }
    }

    func fractions() -> AsyncStream<Double> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            lock.withLock {
                if let last { continuation.yield(last) }
                guard !isOver else { return continuation.finish() }
                observers.append(continuation)
            }
        }
    }
}
