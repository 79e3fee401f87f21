import Testing

@testable import CloakroomMessageModel

/// Some schedules of each run; `message-model` runs as many as it is told.
@Suite struct MessageModelTests {
    @Test(arguments: [UInt64(1), .random(in: 0...999_999_999)])
    func `nothing is purged early, missed, or back, and in the end all know the same`(seed: UInt64) throws {
        var runner = try #require(ScheduleRunner())
        for number in 0..<15 {
            let schedule = Schedule(seed: seed &+ UInt64(number))
            let violation = runner.run(schedule.steps, schedule.setup)
            #expect(violation == nil, "seed \(schedule.seed)")
        }
        #expect(runner.experience.messages > 100)
        #expect(runner.experience.purges > 100)
        #expect(runner.experience.cuts > 0)
    }

    @Test func `a seed makes the same steps each time, and other seeds make others`() {
        #expect(Schedule(seed: 7).steps == Schedule(seed: 7).steps)
        #expect(Schedule(seed: 7).setup == Schedule(seed: 7).setup)
        #expect(Set((0..<50).map { Schedule(seed: $0).steps }).count == 50)
        #expect(Schedule(seed: 7).steps.count == Schedule.length)
    }

    @Test func `the shortest schedule has the steps alone that make it fail`() {
        let noise = (1..<40).map { Step.pass(seconds: $0) }
        let deliver = Step.deliver(device: 1, packet: 3, again: true)
        var shrinker = Shrinker { steps in
            guard let first = steps.firstIndex(of: .kill(device: 0)) else { return false }
            return steps[first...].contains { if case .deliver(1, _, _) = $0 { true } else { false } }
        }
        let steps = noise[..<9] + [deliver, .kill(device: 0)] + noise[9...30] + [deliver, deliver] + noise[31...]
        let shortest = shrinker.shrink(Array(steps))
        #expect(shortest == [.kill(device: 0), .deliver(device: 1, packet: 0, again: false)])
    }

    @Test func `options that cannot be are none`() {
        #expect(Options(["--schedules", "5", "--laws", "0", "--seed", "9"])?.seed == 9)
        for arguments in [["--schedules"], ["--schedules", "-1"], ["--seed", "x"], ["--other", "1"]] {
            #expect(Options(arguments) == nil)
        }
    }
}
