import Foundation

/// What the command line says.
struct Options: Equatable {
    var schedules = 10_000
    /// Cases of each law.
    var laws = 100_000
    var seed = UInt64.random(in: 0...999_999_999)
    /// Run all schedules, and write numbers.
    var measures = false

    init?(_ arguments: some Collection<String>) {
        var rest = Array(arguments)[...]
        while let name = rest.popFirst() {
            if name == "--measure" {
                measures = true
                continue
            }
            guard let value = rest.popFirst() else { return nil }
            switch name {
            case "--schedules":
                guard let count = Int(value), count >= 0 else { return nil }
                schedules = count
            case "--laws":
                guard let count = Int(value), count >= 0 else { return nil }
                laws = count
            case "--seed":
                guard let number = UInt64(value) else { return nil }
                seed = number
            default: return nil
            }
        }
    }
}

/// - Returns: whether all laws held.
func checkLaws(_ options: Options) -> Bool {
    guard options.laws > 0 else { return true }
    if let broken = Laws.firstBroken(cases: options.laws, seed: options.seed) {
        print("a law does not hold: \(broken)")
        return false
    }
    print("the laws held for \(options.laws) cases each from seed \(options.seed)")
    return true
}

/// Runs all schedules, and writes what went wrong as lines `NAME VALUE`.
///
/// - Returns: whether they were run.
func measureSchedules(_ options: Options) -> Bool {
    guard var runner = ScheduleRunner() else { return false }
    for number in 0..<options.schedules { runner.measure(Schedule(seed: options.seed &+ UInt64(number))) }
    for line in runner.measures.lines { print(line) }
    return true
}

/// Runs schedules until one fails.
///
/// - Returns: whether none did.
func checkSchedules(_ options: Options) -> Bool {
    guard var runner = ScheduleRunner() else { return false }
    let start = ContinuousClock.now
    for number in 0..<options.schedules {
        let schedule = Schedule(seed: options.seed &+ UInt64(number))
        guard let violation = runner.run(schedule.steps, schedule.setup) else { continue }
        report(violation, of: schedule, after: number + 1, runner)
        return false
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let experience = runner.experience
    print(
        """
        \(options.schedules) schedules from seed \(options.seed) held, in \(Int(seconds)) s: \(experience.messages) \
        messages were written, devices purged \(experience.purges) times, and users cut their history \(experience.cuts) times
        """)
    return true
}

private func report(_ violation: Violation, of schedule: Schedule, after count: Int, _ runner: ScheduleRunner) {
    print("seed \(schedule.seed), schedule \(count): \(violation.text) (after step \(violation.step))")
    var runner = runner
    var shrinker = Shrinker { runner.run($0, schedule.setup)?.kind == violation.kind }
    let steps = shrinker.shrink(Array(schedule.steps.prefix(violation.step)))
    print("the shortest schedule that fails so has \(steps.count) steps (\(schedule.setup)):")
    for (number, step) in steps.enumerated() { print("  \(number + 1). \(step)") }
    if let last = runner.run(steps, schedule.setup) { print("it ends with: \(last.text)") }
    fflush(nil)
}
