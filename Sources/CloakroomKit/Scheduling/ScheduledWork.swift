import Foundation

/// Something that an app does every now and then, such as to renew its images.
public struct ScheduledWork: Sendable {
    /// Under which a ``WorkSchedule`` remembers when it was done.
    public var name: String
    /// How long after a success it is due again.
    public var interval: Duration
    let perform: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - name: the same at each launch.
    ///   - perform: ends soon when its task is cancelled; the rest is for the next time. What it throws is in
    ///     ``ScheduledWorkResult/error``, and it is due again sooner: after ``CloakroomError/retryAfter``, where the error has it.
    public init(_ name: String, every interval: Duration, perform: @escaping @Sendable () async throws -> Void) {
        self.name = name
        self.interval = interval
        self.perform = perform
    }
}

/// What came of one piece of work.
public struct ScheduledWorkResult: Sendable, Equatable {
    public var name: String
    /// `nil` for a success; ``CloakroomError/Code/cancelled`` when the time was over.
    public var error: CloakroomError?

    public init(name: String, error: CloakroomError?) {
        self.name = name
        self.error = error
    }
}

/// When a piece of work was begun and done last.
struct WorkRecord: Equatable {
    var lastBegun: Date?
    var lastDone: Date?
    /// In a row.
    var failures = 0
    /// When the last failure asked to come again.
    var retry: Date?

    /// After one, two, three … failures; never later than without one.
    private static func delay(after failures: Int) -> Duration { .seconds(900 << min(failures - 1, 5)) }

    /// - Parameter now: a date after this is of a clock that has been set back since, and says nothing.
    func due(every interval: Duration, now: Date) -> Date {
        guard let lastBegun, lastBegun <= now else { return now }
        if failures > 0 {
            let latest = lastBegun.addingTimeInterval(interval / .seconds(1))
            if let retry, retry > lastBegun { return min(retry, latest) }
            return lastBegun.addingTimeInterval(min(Self.delay(after: failures), interval) / .seconds(1))
        }
        guard let lastDone, lastDone <= now else { return now }
        return lastDone.addingTimeInterval(interval / .seconds(1))
    }
}
