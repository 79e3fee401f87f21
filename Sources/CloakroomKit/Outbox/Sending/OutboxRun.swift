/// One run of an outbox.
struct OutboxRun {
    /// What the callers wait for; ends with the run.
    let shared: SharedRun<OutboxReport>
    /// Wakes the run: something was added, has ended, or is due.
    let signal: AsyncStream<Void>.Continuation
    /// By the items' identifiers.
    var active: [String: (transfer: SharedRun<Void>, byteCount: Int64)] = [:]
    var bytesUnderWay: Int64 { active.values.reduce(0) { $0 + $1.byteCount } }
    var report = OutboxReport()
    /// Items in a row that failed for the network or the server.
    var consecutiveFailures = 0

    static let maximumConsecutiveFailures = 4
}
