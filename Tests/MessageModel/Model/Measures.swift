import CloakroomMessages

/// What goes wrong, counted: for those who want numbers, whether or not they are 0.
struct Measures: Equatable, Sendable {
    /// In the end devices differ in what participants want, or in when a message ends.
    var isDivergent = false
    /// Messages that a device has ended before their time.
    var purgedEarly = 0
    /// Messages that a device still has long after their time.
    var missed = 0
    /// How long a message was still there after its time, where the device was on and sure of the time.
    var latest: Milliseconds = 0
}

/// The same of many schedules.
struct TotalMeasures: Equatable, Sendable {
    var schedules = 0
    var divergent = 0
    var purgedEarly = 0
    var missed = 0
    var latest: Milliseconds = 0
    /// Schedules in which anything else failed, or one of these.
    var failed = 0

    mutating func add(_ measures: Measures, hasFailed: Bool) {
        schedules += 1
        divergent += measures.isDivergent ? 1 : 0
        purgedEarly += measures.purgedEarly
        missed += measures.missed
        latest = max(latest, measures.latest)
        failed += hasFailed ? 1 : 0
    }

    /// As lines `NAME VALUE`.
    var lines: [String] {
        [
            "schedules \(schedules)", "divergent \(divergent)", "early \(purgedEarly)", "missed \(missed)",
            "late_seconds \(Double(latest) / 1000)", "failed \(failed)",
        ]
    }
}
