import Foundation

/// What the command line says.
struct Options: Equatable {
    var schedules = 10_000
    var seed = UInt64.random(in: 0...999_999_999)
    /// How many different failures end the search.
    var failures = 1

    init?(_ arguments: some Collection<String>) {
        var rest = Array(arguments)[...]
        while let name = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            switch name {
            case "--schedules":
                guard let count = Int(value), count > 0 else { return nil }
                schedules = count
            case "--failures":
                guard let count = Int(value), count > 0 else { return nil }
                failures = count
            case "--seed":
                guard let number = UInt64(value) else { return nil }
                seed = number
            default: return nil
            }
        }
    }
}

/// Runs schedules until one fails.
///
/// - Returns: whether none did.
func checkSchedules(_ options: Options) throws -> Bool {
    try SerialJobs.install()
    // In memory where the system has such a place: a schedule waits for the disk hundreds of times.
    let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
    let hasMemory = FileManager.default.isWritableFile(atPath: memory.path)
    let place = hasMemory ? memory : FileManager.default.temporaryDirectory
    let folder = place.appendingPathComponent("tier-model-\(UUID().uuidString)", isDirectory: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let runner = try ScheduleRunner(folder: folder)
    let start = ContinuousClock.now
    var found: Set<String> = []
    for number in 0..<options.schedules {
        let schedule = Schedule(seed: options.seed &+ UInt64(number))
        guard let violation = try runner.run(schedule.steps), found.insert(violation.kind).inserted else { continue }
        try report(violation, of: schedule, after: number + 1, runner)
        if found.count == options.failures { return false }
    }
    guard found.isEmpty else { return false }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let experience = runner.experience
    print(
        """
        \(options.schedules) schedules from seed \(options.seed) held, in \(Int(seconds)) s: photos left devices \
        \(experience.departures) times, were fetched \(experience.fetches) times, and deleted \(experience.deletions) times
        """)
    return true
}

private func report(_ violation: Violation, of schedule: Schedule, after count: Int, _ runner: ScheduleRunner) throws {
    print("seed \(schedule.seed), schedule \(count): \(violation.text) (after step \(violation.step))")
    var shrinker = Shrinker { try runner.run($0)?.kind == violation.kind }
    let steps = try shrinker.shrink(Array(schedule.steps.prefix(violation.step)))
    print("the shortest schedule that fails so has \(steps.count) steps:")
    for (number, step) in steps.enumerated() { print("  \(number + 1). \(step)") }
    fflush(nil)
}
