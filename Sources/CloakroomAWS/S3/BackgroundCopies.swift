/// Copies of large objects that go on beside the requests that began them.
///
/// Kept by the client's actor. What came of one is told once, to the next request for the key.
struct BackgroundCopies {
    /// How many go on at once.
    static let maximumRunning = 4
    /// How long one may take.
    static let limit: Duration = .seconds(900)
    /// How long one attempt at one of its requests may take: S3 responds to some of them only when all is done.
    static let timeout: Duration = .seconds(60)
    /// When a client may retry while one goes on.
    private static let retryInterval: Duration = .seconds(10)
    /// How long a result is kept, and how many of them.
    private static let resultLifetime: Duration = .seconds(900)
    private static let maximumResults = 256

    private struct Result {
        let outcome: Renewal.Outcome
        let time: ContinuousClock.Instant
    }

    private var running: [ObjectAddress: Task<Void, Never>] = [:]
    private var results: [ObjectAddress: Result] = [:]
    private var abortions: [Int: Task<Void, Never>] = [:]
    private var abortionCount = 0
    private(set) var isClosed = false

    var isEmpty: Bool { running.isEmpty && results.isEmpty }

    /// - Returns: `nil` for an object that is no affair of these.
    mutating func outcome(of object: ObjectAddress, now: ContinuousClock.Instant) -> Renewal.Outcome? {
        if running[object] != nil { return Self.inProgress }
        guard let result = results.removeValue(forKey: object), now < result.time + Self.resultLifetime else {
            return nil
        }
        return result.outcome
    }

    /// - Parameter start: starts the copy.
    /// - Returns: what is told of it meanwhile.
    mutating func begin(_ object: ObjectAddress, _ start: () -> Task<Void, Never>) -> Renewal.Outcome {
        guard running[object] == nil else { return Self.inProgress }
        guard !isClosed, running.count < Self.maximumRunning else {
            return Self.tooMany
        }
        running[object] = start()
        return Self.inProgress
    }

    /// What to wait for before an object is requested again: its own copy, or one that takes its place.
    ///
    /// - Returns: `nil` when the outcome says nothing of copies that go on.
    func task(before object: ObjectAddress, after outcome: Renewal.Outcome) -> Task<Void, Never>? {
        outcome == Self.inProgress ? running[object] : outcome == Self.tooMany ? running.values.first : nil
    }

    mutating func end(_ object: ObjectAddress, _ outcome: Renewal.Outcome, now: ContinuousClock.Instant) {
        running[object] = nil
        guard !isClosed else { return }
        if results.count >= Self.maximumResults {
            results = results.filter { now < $0.value.time + Self.resultLifetime }
        }
        guard results.count < Self.maximumResults else { return }
        results[object] = Result(outcome: outcome, time: now)
    }

    /// - Parameter start: is told under which number to say that it has ended.
    mutating func beginAbortion(_ start: (Int) -> Task<Void, Never>) {
        abortionCount += 1
        abortions[abortionCount] = start(abortionCount)
    }

    mutating func endAbortion(_ number: Int) { abortions[number] = nil }

    /// Cancels all; none is begun any more.
    ///
    /// - Returns: those to wait for.
    mutating func close() -> [Task<Void, Never>] {
        isClosed = true
        for task in running.values { task.cancel() }
        return Array(running.values)
    }

    var allAbortions: [Task<Void, Never>] { Array(abortions.values) }

    private static var tooMany: Renewal.Outcome {
        .unavailable(retryAfter: retryInterval * 3, code: Renewal.tooManyLargeCopies)
    }

    private static var inProgress: Renewal.Outcome {
        .unavailable(retryAfter: retryInterval, code: Renewal.stillCopying)
    }
}
