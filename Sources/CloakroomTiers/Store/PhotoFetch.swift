import CloakroomKit
import Foundation

/// One fetch of a photo, for however many callers.
final class PhotoFetch: Sendable {
    let task: Task<URL, any Error>
    let progress: FetchProgress
    private let callers: FetchCallers
    private let priority: TaskPriority

    /// - Parameter isolation: where it runs; it begins and ends on the store's actor.
    init(
        _ timeouts: Timeouts, isolation: isolated any Actor,
        _ body: @escaping @Sendable (FetchProgress) async throws -> URL
    ) {
        let (progress, callers) = (FetchProgress(), FetchCallers(timeouts))
        (self.progress, self.callers) = (progress, callers)
        priority = Task.currentPriority
        task = Task {
            _ = isolation
            do {
                let file = try await body(progress)
                progress.end()
                callers.end(.success(file))
                return file
            } catch {
                progress.end()
                callers.end(.failure(error))
                throw error
            }
        }
    }

    /// Waits for it as long as the caller wants to, `nil` for as long as it takes; it goes on without the caller.
    func file(within: Duration?) async throws -> URL {
        // It was begun for something less urgent: waiting for a task raises its priority.
        if Task.currentPriority > priority { Task { [task] in _ = try? await task.value } }
        return try await callers.wait(within: within)
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
