/// What a test waited for did not come.
package struct WaitingError: Error {
    package init() {}
}

/// Lets other tasks go on until a condition holds.
///
/// - Parameters:
///   - time: less than a test has, so that the others go on after a failure.
///   - pause: between two looks.
/// - Throws: ``WaitingError`` when the time is over, and what the condition throws.
package func until(
    within time: Duration = .seconds(30), _ condition: () async throws -> Bool,
    pause: () async throws -> Void = { await Task.yield() }
) async throws {
    let end = ContinuousClock.now + time
    while try await !condition() {
        guard .now < end else { throw WaitingError() }
        try await pause()
    }
}
