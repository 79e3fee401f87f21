/// Work that the system lets an app do in the background, until it says that the time is over.
///
/// The system requires one completion call, soon after the time is over: hence there is one call, after the work, and
/// the work is cancelled when the time is over.
struct BackgroundRun: Sendable {
    private let task: Task<Void, Never>

    /// - Parameters:
    ///   - work: ends soon when it is cancelled.
    ///   - done: called once, with whether the work completed in time and without an error.
    init(_ work: @escaping @Sendable () async throws -> Void, done: @escaping @Sendable (Bool) -> Void) {
        task = Task {
            do {
                try await work()
                done(!Task.isCancelled)
            } catch {
                done(false)
            }
        }
    }

    /// The time is over.
    func expire() { task.cancel() }

    /// Waits until the completion call was made.
    func end() async { await task.value }
}
