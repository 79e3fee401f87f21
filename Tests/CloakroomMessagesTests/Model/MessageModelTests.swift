import CloakroomMessages
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

    @Test func `schedules that are measured are run to their ends, and what is wrong is counted`() throws {
        var runner = try #require(ScheduleRunner())
        for seed in 1..<6 { runner.measure(Schedule(seed: UInt64(seed))) }
        let measures = runner.measures
        #expect(measures.schedules == 5 && measures.failed == 0)
        #expect((measures.divergent, measures.purgedEarly, measures.missed) == (0, 0, 0))
        #expect((1...60_000).contains(measures.latest))

        // What a device ends that it has just got, and what it never learns of.
        var fleet = Fleet(Schedule(seed: 1).setup, conversation: runner.conversation)
        fleet.perform(.policy(device: 0, .keep, history: false))
        fleet.perform(.send(device: 0, quotes: nil))
        fleet.ended([0], 0)
        #expect(fleet.measures.purgedEarly == 1)
        fleet.heal()
        #expect(fleet.measures.isDivergent == false)
        fleet.devices[4].state = RetentionState()
        fleet.compareStates()
        #expect(fleet.measures.isDivergent)
        var total = TotalMeasures()
        total.add(fleet.measures, hasFailed: true)
        #expect(total.lines == ["schedules 1", "divergent 1", "early 1", "missed 0", "late_seconds 0.0", "failed 1"])
    }

    @Test func `options that cannot be are none`() {
        #expect(Options(["--schedules", "5", "--laws", "0", "--seed", "9"])?.seed == 9)
        for arguments in [["--schedules"], ["--schedules", "-1"], ["--seed", "x"], ["--other", "1"]] {
            #expect(Options(arguments) == nil)
        }
    }
}
