import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// Hidden by the latest plausible time, purged by trusted time alone.
@Suite struct PurgeClockTests {
    @Test func `a clock that is set ahead hides, and purges nothing`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        try await device.admit("m1", relayTime: device.clocks.now)
        try await device.admit("m2")
        device.clocks.set(by: .seconds(2 * 86_400))
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 0)
        device.clocks.set(by: .seconds(-2 * 86_400))
        #expect(try await device.shown() == ["m1", "m2"])
    }

    @Test(arguments: [true, false])
    func `a clock that is set ahead while the device is on purges nothing, however long it is wrong`(
        isServerHeard: Bool
    ) async throws {
        let device = try await RetentionFixture(server: isServerHeard)
        try await device.want(.oneWeek)
        try await device.admit("m1", relayTime: device.clocks.now)
        try await device.admit("m2")
        device.clocks.restart(after: .seconds(60))
        try await device.relaunch()
        #expect(try await device.shown() == ["m1", "m2"])
        device.clocks.set(by: .seconds(365 * 86_400))
        #expect(try await device.shown() == [])
        for _ in 0..<2 {
            device.clocks.pass(.seconds(86_400))
            #expect(try await device.retention.purge().purgedCount == 0)
            try await device.relaunch()
            #expect(try await device.shown() == [])
        }
        device.clocks.set(by: .seconds(-365 * 86_400))
        #expect(try await device.shown() == ["m1", "m2"])
        #expect(
            try await device.admit("m3", .oneDay, relayTime: device.clocks.now)
                == .kept(until: device.clocks.later(.seconds(86_400))))
        #expect(try await device.shown() == ["m1", "m2", "m3"])
        // What has passed is known all the same.
        device.clocks.pass(.seconds(5 * 86_400))
        #expect(try await device.retention.purge().purgedCount == 3)
    }

    @Test func `what a clock that was wrong at a start has shown ends nothing that a relay's time says is new`()
        async throws
    {
        let device = try await RetentionFixture(server: false)
        try await device.want(.keep)
        try await device.admit("m1", relayTime: device.clocks.now)
        device.clocks.restart(after: .seconds(365 * 86_400))
        try await device.relaunch()
        device.clocks.pass(.seconds(86_400))
        _ = try await device.shown()
        device.clocks.set(by: .seconds(-365 * 86_400))
        _ = try await device.shown()
        #expect(
            try await device.admit("m2", .oneDay, relayTime: device.clocks.now)
                == .kept(until: device.clocks.later(.seconds(86_400))))
        #expect(try await device.shown() == ["m1", "m2"])
        // Also when the clocks have agreed since.
        device.clocks.pass(.seconds(86_399))
        #expect(try await device.shown() == ["m1", "m2"])
        device.clocks.pass(.seconds(1))
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(try await device.shown() == ["m1"])
    }

    @Test func `a clock that is set back prolongs nothing`() async throws {
        let device = try await RetentionFixture(server: false)
        try await device.want(.oneDay)
        try await device.admit("m1")
        device.clocks.pass(.seconds(43_200))
        device.clocks.set(by: .seconds(-30 * 86_400))
        device.clocks.pass(.seconds(43_199))
        #expect(try await device.shown() == ["m1"])
        device.clocks.pass(.seconds(1))
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 1)
    }

    @Test func `time across a restart hides, and purges when the server tells it`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        try await device.admit("m1")
        device.clocks.restart(after: .seconds(90_000))
        try await device.relaunch()
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 0)
        device.clocks.hearServer()
        #expect(try await device.retention.purge().purgedCount == 1)
    }

    @Test func `time across a restart counts after a day of agreement, less what clocks can be wrong by`() async throws
    {
        let device = try await RetentionFixture(server: false)
        try await device.want(.oneWeek)
        try await device.admit("m1")
        device.clocks.restart(after: .seconds(10 * 86_400))
        try await device.relaunch()
        device.clocks.pass(.seconds(3600))
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 0)
        // There is something to do once the clocks have agreed for so long.
        let next = try #require(try await device.retention.nextDeadline())
        #expect(next.timeIntervalSince(device.clocks.now) == 82_800)
        device.clocks.pass(.seconds(82_800))
        #expect(try await device.retention.purge().purgedCount == 1)
    }

    @Test func `what was received before the server's time was known ends by it afterwards`() async throws {
        let device = try await RetentionFixture(server: false)
        try await device.want(.oneHour)
        try await device.admit("m1")
        // The device's clock is a day behind.
        device.clocks.hearServer(ahead: .seconds(86_400))
        #expect(try await device.shown() == ["m1"])
        device.clocks.pass(.seconds(3599))
        #expect(try await device.retention.purge().purgedCount == 0)
        #expect(try await device.shown() == ["m1"])
        device.clocks.pass(.seconds(1))
        #expect(try await device.retention.purge().purgedCount == 1)
    }

    @Test func `nothing wakes up while nothing is due, and each message goes when it is`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour)
        try await device.admit("m2", .oneDay)
        try await device.admit("live")
        let clocks = device.clocks
        // Sleeping passes the time at once, until nothing has an end.
        let (slept, asleep) = AsyncStream<Duration>.makeStream()
        device.interruption.onSleep.withLock {
            $0 = { duration in
                asleep.yield(duration)
                guard duration < .seconds(86_400 * 400) else {
                    try await Task.sleep(for: .seconds(3600))
                    return
                }
                clocks.pass(duration)
            }
        }
        let retention = device.retention
        let run = Task { await retention.run() }
        var sleeps: [Duration] = []
        for await duration in slept {
            sleeps.append(duration)
            if duration >= .seconds(86_400 * 400) { break }
        }
        run.cancel()
        await run.value
        // Two messages, and the ends of their two slots; a rotation that has to wait for its minute at most.
        #expect(sleeps.first == .seconds(3600))
        #expect(sleeps.count <= 7, "\(sleeps)")
        // A century.
        #expect(sleeps.last == .seconds(36_525 * 86_400))
        #expect(try device.count("message") == 1)
        #expect(await device.storage.keyTable.ids.count == 2)
    }

    @Test(.timeLimit(.minutes(1))) func `images are released while it runs, and again when that failed`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit(
            "m1", .oneHour, from: RetentionFixture.own, attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        device.releaser.fail(with: CloakroomError(.unreachable, "offline"))
        let (clocks, releaser) = (device.clocks, device.releaser)
        let (slept, asleep) = AsyncStream<Duration>.makeStream()
        device.interruption.onSleep.withLock {
            $0 = { duration in
                asleep.yield(duration)
                guard duration < .seconds(86_400 * 400) else {
                    try await Task.sleep(for: .seconds(3600))
                    return
                }
                if !releaser.keys.isEmpty { releaser.fail(with: nil) }
                clocks.pass(duration)
            }
        }
        let retention = device.retention
        let run = Task { await retention.run() }
        for await duration in slept where duration >= .seconds(86_400 * 400) { break }
        run.cancel()
        await run.value
        #expect(device.releaser.keys == ["chat/1", "chat/1"])
        #expect(try device.count("release") == 0)
    }

    @Test func `a message that comes while it sleeps is purged in its time`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        let clocks = device.clocks
        let (slept, asleep) = AsyncStream<Duration>.makeStream()
        device.interruption.onSleep.withLock {
            $0 = { duration in
                asleep.yield(duration)
                if duration < .seconds(86_400 * 400) {
                    clocks.pass(duration)
                } else {
                    try await Task.sleep(for: .seconds(3600))
                }
            }
        }
        let retention = device.retention
        let run = Task { await retention.run() }
        var isAdmitted = false
        for await duration in slept where duration >= .seconds(86_400 * 400) {
            if isAdmitted { break }
            try await device.admit("m1", .oneHour)
            isAdmitted = true
        }
        run.cancel()
        await run.value
        #expect(try device.count("message") == 0)
        #expect(device.handler.ids == ["m1"])
    }
}
