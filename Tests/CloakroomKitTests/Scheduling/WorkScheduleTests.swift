import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct WorkScheduleTests {
    private let folder: TemporaryFolder
    private let clock = FakeRuntime()
    private let log = Log<String>()

    init() throws { folder = try TemporaryFolder() }

    /// - Parameter other: a clock of its own.
    private func schedule(by other: FakeRuntime? = nil) throws -> WorkSchedule {
        try WorkSchedule(
            at: folder.url.appendingPathComponent("work.sqlite"), owner: .test, runtime: (other ?? clock).runtime)
    }

    private func work(_ name: String, every hours: Int, _ more: @escaping @Sendable () async throws -> Void = {})
        -> ScheduledWork
    {
        ScheduledWork(name, every: .seconds(hours * 3_600)) { [log] in
            log.append(name)
            try await more()
        }
    }

    @Test func `work is done at once, and again after its interval`() async throws {
        let schedule = try schedule()
        await schedule.add(work("daily", every: 24))
        await schedule.add(work("hourly", every: 1))
        #expect(await schedule.runDue().map(\.name) == ["daily", "hourly"])
        #expect(await schedule.runDue() == [])
        #expect(try await schedule.nextDate() == clock.wallTime.addingTimeInterval(3_600))
        clock.pass(.seconds(3_600))
        #expect(await schedule.runDue().map(\.name) == ["hourly"])
        clock.pass(.seconds(23 * 3_600))
        #expect(await schedule.runDue().map(\.name) == ["daily", "hourly"])
    }

    @Test func `what was done before a launch is not due after it`() async throws {
        let first = try schedule()
        await first.add(work("daily", every: 24))
        await first.runDue()
        let second = try schedule()
        await second.add(work("daily", every: 24))
        #expect(await second.runDue() == [])
        #expect(log.all == ["daily"])
    }

    @Test func `work that fails is due sooner, and later each time`() async throws {
        let schedule = try schedule()
        await schedule.add(work("backup", every: 24) { throw CloakroomError(.unreachable, "no network") })
        #expect(await schedule.runDue().map(\.error?.code) == [.unreachable])
        for delay in [900.0, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800] {
            #expect(try await schedule.nextDate() == clock.wallTime.addingTimeInterval(delay))
            clock.pass(.seconds(delay))
            #expect(await schedule.runDue().count == 1)
        }
    }

    @Test func `work whose error says when is due then, however often it failed, also after a launch`() async throws {
        let busy = CloakroomError(.tooManyRequests, "too many", retryAfter: .seconds(3_600))
        for _ in 0..<4 {
            let schedule = try schedule()
            await schedule.add(work("renewals", every: 24) { throw busy })
            #expect(await schedule.runDue().map(\.error?.code) == [.tooManyRequests])
            #expect(try await schedule.nextDate() == clock.wallTime.addingTimeInterval(3_600))
            clock.pass(.seconds(3_600))
        }
        let longer = CloakroomError(.tooManyRequests, "too many", retryAfter: .seconds(7_200))
        let schedule = try schedule()
        await schedule.add(work("renewals", every: 1) { throw longer })
        await schedule.runDue()
        #expect(
            try await schedule.nextDate() == clock.wallTime.addingTimeInterval(3_600), "no later than without a failure"
        )
    }

    @Test func `work that fails is not due later than without a failure`() async throws {
        let schedule = try schedule()
        await schedule.add(
            ScheduledWork("often", every: .seconds(60)) { throw CloakroomError(.unreachable, "no network") })
        await schedule.runDue()
        #expect(try await schedule.nextDate() == clock.wallTime.addingTimeInterval(60))
    }

    @Test func `work that took all the time is last the next time`() async throws {
        let schedule = try schedule()
        let began = Gate()
        await schedule.add(
            work("long", every: 24) {
                await began.open()
                // Of its own accord it would not end.
                while !Task.isCancelled { await Task.yield() }
            })
        await schedule.add(work("short", every: 24))
        let run = Task { await schedule.runDue() }
        await began.pass()
        run.cancel()
        #expect(await run.value == [ScheduledWorkResult(name: "long", error: .cancelled)])
        clock.pass(.seconds(60))
        await schedule.add(work("long", every: 24))
        #expect(await schedule.runDue().map(\.name) == ["short", "long"])
    }

    @Test func `a second call waits for the first, and does nothing twice`() async throws {
        let schedule = try schedule()
        let began = Gate()
        let mayEnd = Gate()
        await schedule.add(
            work("one", every: 24) {
                await began.open()
                await mayEnd.pass()
            })
        let first = Task { await schedule.runDue() }
        await began.pass()
        let second = Task { await schedule.runDue() }
        await mayEnd.open()
        let results = [await first.value, await second.value]
        #expect(results.allSatisfy { $0.allSatisfy { $0.error == nil } })
        #expect(log.all == ["one"])
    }

    @Test func `a caller that is cancelled does not wait for the others' work`() async throws {
        let schedule = try schedule()
        let gate = Gate()
        await schedule.add(work("one", every: 24) { await gate.pass() })
        let callers = (0..<2).map { _ in Task { await schedule.runDue() } }
        await gate.arrival()
        try await until { await schedule.callerCount == 2 }
        callers[1].cancel()
        #expect(await callers[1].value == [])
        await gate.open()
        #expect(await callers[0].value == [ScheduledWorkResult(name: "one", error: nil)])
    }

    @Test func `a call after the only caller was cancelled does what was left`() async throws {
        let schedule = try schedule()
        let gate = Gate()
        await schedule.add(work("one", every: 24) { await gate.pass() })
        await schedule.add(work("two", every: 24))
        let first = Task { await schedule.runDue() }
        await gate.arrival()
        first.cancel()
        async let second = schedule.runDue()
        await gate.open()
        #expect(await second.contains(ScheduledWorkResult(name: "two", error: nil)))
        _ = await first.value
    }

    @Test func `closing does not wait for what the app began elsewhere`() async throws {
        let schedule = try schedule()
        let gate = Gate()
        let elsewhere = SharedRun { await gate.pass() }
        let app = Task { await elsewhere.value() }
        await gate.arrival()
        await schedule.add(work("backup", every: 24) { _ = await elsewhere.value() })
        let run = Task { await schedule.runDue() }
        try await until { elsewhere.callerCount == 2 }
        await schedule.close()
        #expect(await run.value.map(\.error?.code) == [.cancelled])
        await gate.open()
        #expect(await app.value == true)
    }

    @Test(.timeLimit(.minutes(1))) func `work that closes the schedule goes on, and is the last`() async throws {
        let schedule = try schedule()
        await schedule.add(
            work("check", every: 24) { [log] in
                await schedule.close()
                log.append("cancelled: \(Task.isCancelled)")
            })
        await schedule.add(work("backup", every: 24))
        #expect(await schedule.runDue() == [ScheduledWorkResult(name: "check", error: nil)])
        #expect(log.all == ["check", "cancelled: false"])
    }

    @Test(.timeLimit(.minutes(1))) func `work that waits for its own schedule does not wait for ever`() async throws {
        let schedule = try schedule()
        await schedule.add(
            work("one", every: 24) { [log] in
                await schedule.cancel()
                log.append("\(await schedule.runDue().count)")
            })
        #expect(await schedule.runDue().map(\.error?.code) == [.cancelled])
        #expect(log.all == ["one", "0"])
    }

    @Test func `a clock that was set back makes work due`() async throws {
        let schedule = try schedule()
        clock.setWallClock(ahead: .seconds(400 * 86_400))
        await schedule.add(work("daily", every: 24))
        await schedule.runDue()
        clock.setWallClock(ahead: .zero)
        #expect(await schedule.runDue().map(\.name) == ["daily"])
        #expect(await schedule.runDue() == [])
    }

    @Test func `a damaged file makes everything due, and is kept`() async throws {
        let file = folder.url.appendingPathComponent("work.sqlite")
        try Data(repeating: 7, count: 8_192).write(to: file)
        let schedule = try schedule()
        await schedule.add(work("daily", every: 24))
        #expect(await schedule.runDue().map(\.error) == [nil])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(names.contains { $0.hasPrefix("work.sqlite.corrupt") })
    }

    @Test func `another user's schedule is refused`() async throws {
        _ = try schedule()
        let another = StoreOwner(user: "another", endpoint: URL(string: "https://api.example.com")!)
        #expect {
            try WorkSchedule(at: folder.url.appendingPathComponent("work.sqlite"), owner: another)
        } throws: { ($0 as? CloakroomError)?.code == .storeOwnerMismatch }
    }

    @Test func `running wakes up for what is due, and for work that was added`() async throws {
        let clock = FakeRuntime(sleeping: .waits)
        let schedule = try schedule(by: clock)
        await schedule.add(work("hourly", every: 1))
        let run = Task { await schedule.run() }
        try await until { clock.sleeps == [.seconds(3_600)] }
        await schedule.add(work("daily", every: 24))
        try await until { clock.sleeps == [.seconds(3_600), .seconds(3_600)] }
        #expect(log.all == ["hourly", "daily"])
        clock.pass(.seconds(3_600))
        try await until { clock.sleeps.count == 3 }
        #expect(log.all == ["hourly", "daily", "hourly"])
        run.cancel()
        await run.value
    }

    @Test func `work that is added wakes a run that began before another`() async throws {
        let clock = FakeRuntime(sleeping: .waits)
        let schedule = try schedule(by: clock)
        let first = Task { await schedule.run() }
        try await until { clock.sleeps.count == 1 }
        let second = Task { await schedule.run() }
        try await until { clock.sleeps.count == 2 }
        second.cancel()
        await second.value
        await schedule.add(work("hourly", every: 1))
        try await until { log.all == ["hourly"] }
        first.cancel()
        await first.value
    }

    @Test(arguments: [-90 * 86_400, -1800, 1800, 90 * 86_400])
    func `a clock that is set while it sleeps makes work late by one interval at most`(seconds: Int) async throws {
        let clock = FakeRuntime(sleeping: .waits)
        let schedule = try schedule(by: clock)
        await schedule.add(work("hourly", every: 1))
        let run = Task { await schedule.run() }
        try await until { clock.sleeps == [.seconds(3_600)] }
        clock.setWallClock(ahead: .seconds(seconds))
        clock.pass(.seconds(3_600))
        if seconds == -1800 {
            try await until { clock.sleeps == [.seconds(3_600), .seconds(1_800)] }
            #expect(log.all == ["hourly"])
            clock.pass(.seconds(1_800))
        }
        try await until { clock.sleeps.last == .seconds(3_600) && clock.sleeps.count > 1 }
        #expect(log.all == ["hourly", "hourly"])
        run.cancel()
        await run.value
    }
}
