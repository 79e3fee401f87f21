import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// Tombstones that a relay's time has made needless go, and no others.
@Suite struct PruningTests {
    /// Of the day after which a message of now is over everywhere, whatever anyone's policy is.
    private func end(_ device: RetentionFixture) -> Milliseconds {
        ((device.clocks.reading.wall + Milliseconds(MessageRetentionPolicy.longest)) / .day + 2) * .day
    }

    private func pass(to time: Milliseconds, _ device: RetentionFixture) {
        device.clocks.pass(.milliseconds(time - device.clocks.reading.wall))
    }

    @Test func `where nothing is ever stored, a tombstone goes when it is needless, and not a millisecond before`()
        async throws
    {
        let device = try await RetentionFixture()
        let relayTime = device.clocks.now
        try await device.admit("m1", .oneHour, relayTime: relayTime)
        try await device.admit("for ever", .oneHour)
        try await device.retention.close(RetentionFixture.conversation)
        let end = end(device)
        // The key of its note goes first.
        try await device.retention.purge()
        device.clocks.pass(.seconds(61))
        #expect(try await device.retention.purge().isComplete)
        #expect(try await device.retention.nextDeadline() == end.date)
        pass(to: end - 1, device)
        try await device.relaunch()
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.tombstoneCount() == 2)
        #expect(try await device.admit("m1", .keep, relayTime: relayTime) == .replay)
        device.clocks.pass(.milliseconds(1))
        #expect(try await device.retention.nextDeadline() == device.clocks.now)
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.tombstoneCount() == 1)
        #expect(try await device.retention.nextDeadline() == nil)
        #expect(try await device.admit("m1", .oneHour, relayTime: relayTime) == .arrivedExpired)
        #expect(try await device.admit("for ever", .oneHour) == .replay)
    }

    @Test(.timeLimit(.minutes(1))) func `what runs sleeps until a tombstone is needless, and removes it then`()
        async throws
    {
        let device = try await RetentionFixture()
        try await device.admit("m1", .oneHour, relayTime: device.clocks.now)
        try await device.retention.close(RetentionFixture.conversation)
        // The key of its note goes first.
        try await device.retention.purge()
        let expected = Duration.milliseconds(end(device) - device.clocks.reading.wall)
        let clocks = device.clocks
        let (slept, asleep) = AsyncStream<Duration>.makeStream()
        device.interruption.onSleep.withLock {
            $0 = { duration in
                asleep.yield(duration)
                guard duration < .seconds(86_400 * 400) else { return try await Task.sleep(for: .seconds(3600)) }
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
        #expect(sleeps.dropLast().filter { $0 > .seconds(60) } == [expected])
        #expect(sleeps.count <= 3, "\(sleeps)")
        #expect(try device.tombstoneCount() == 0)
    }

    @Test func `a purge removes all that are needless, some at a time, and those that came meanwhile in their time`()
        async throws
    {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        let relayTime = device.clocks.now
        _ = try await device.retention.admit(
            try (0..<3000).map { try device.incoming("m\($0)", .oneHour, relayTime: relayTime) })
        _ = try await device.retention.admit(try (0..<1500).map { try device.incoming("for ever \($0)", .oneHour) })
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == 4500)
        #expect(try device.tombstoneCount() == 4500)
        device.clocks.pass(.seconds(367 * 86_400))
        _ = try await device.storage.clock(at: device.clocks.reading)
        var counts: [Int64] = [4500]
        var later: Milliseconds = 0
        while try await device.storage.pruneTombstones() {
            counts.append(try device.tombstoneCount())
            guard counts.count == 2 else { continue }
            later = end(device)
            try await device.admit("late", .oneHour, relayTime: device.clocks.now)
        }
        // The lock is short, so none removes more than this.
        #expect(counts.count > 2 && zip(counts, counts.dropFirst()).allSatisfy { $0 - $1 <= 2048 }, "\(counts)")
        #expect(try device.tombstoneCount() == 1500)
        #expect(try await device.admit("for ever 7", .oneHour) == .replay)
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(
            await device.storage.pruningRemaining(device.storage.clock) == later - device.clocks.reading.wall)
        pass(to: later, device)
        try await device.relaunch()
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.tombstoneCount() == 1500)
    }

    @Test func `none goes by what the wall clock alone has shown`() async throws {
        let device = try await RetentionFixture(server: false)
        try await device.want(.oneHour)
        let relayTime = device.clocks.now
        try await device.admit("m1", .oneHour, relayTime: relayTime)
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == 1)
        device.clocks.restart(after: .seconds(400 * 86_400))
        try await device.relaunch()
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.tombstoneCount() == 1)
        // It was a wrong one.
        device.clocks.set(by: .seconds(-400 * 86_400))
        try await device.admit("m2", .oneHour, relayTime: device.clocks.now)
        #expect(try await device.admit("m1", .keep, relayTime: relayTime) == .replay)
    }

    @Test func `a search that ends with the process begins anew`() async throws {
        let device = try await RetentionFixture()
        let relayTime = device.clocks.now
        for index in 0..<8 { try await device.admit("m\(index)", .oneHour, relayTime: relayTime) }
        try await device.retention.close(RetentionFixture.conversation)
        pass(to: end(device), device)
        _ = try await device.storage.clock(at: device.clocks.reading)
        #expect(try await device.storage.pruneTombstones(limit: 3))
        #expect(try device.tombstoneCount() == 5)
        try await device.relaunchKilled()
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.tombstoneCount() == 0)
    }

    @Test func `what is over and still here stays known, and is looked at once a day`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        let relayTime = device.clocks.now
        try await device.admit("m1", .oneDay, relayTime: relayTime)
        device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked"))
        pass(to: end(device), device)
        #expect(try await device.retention.purge().stoppedBy?.code == .storeFailed)
        #expect(try device.count("known") == 1)
        #expect(try await device.admit("m1", .oneDay, relayTime: relayTime) == .replay)
        #expect(await device.storage.pruningRemaining(device.storage.clock) == .day)
        device.handler.fail(with: nil)
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(try device.count("known") == 1)
        device.clocks.pass(.seconds(86_400))
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.count("known") == 0)
    }

    @Test func `messages that are too old to be known for long are looked for the next day`() async throws {
        let device = try await RetentionFixture()
        let relayTime = device.clocks.later(.seconds(-400 * 86_400))
        #expect(try await device.admit("m1", .oneHour, relayTime: relayTime) == .arrivedExpired)
        let tomorrow = (device.clocks.reading.wall / .day + 1) * .day
        #expect(try await device.retention.nextDeadline() == tomorrow.date)
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.tombstoneCount() == 1)
        pass(to: tomorrow, device)
        #expect(try await device.retention.purge().isComplete)
        #expect(try device.tombstoneCount() == 0)
    }
}
