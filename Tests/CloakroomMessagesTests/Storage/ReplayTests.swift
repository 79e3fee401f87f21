import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// What was here once does not come back.
@Suite struct ReplayTests {
    @Test func `10,000 replays of purged messages bring nothing back`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        let relayTime = device.clocks.now
        // A third with a relay's time, a third without, and a third in memory.
        var messages: [IncomingMessage] = []
        for index in 0..<2500 {
            messages.append(
                try device.incoming(
                    "m\(index)", index % 3 == 2 ? .noStorage : .keep, relayTime: index % 3 == 0 ? relayTime : nil))
        }
        for admission in try await device.retention.admit(messages) {
            guard case .kept = admission else {
                Issue.record("\(admission)")
                return
            }
        }
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        try await device.retention.close(RetentionFixture.conversation)
        try await device.want(.keep)
        for round in 0..<4 {
            device.clocks.pass(.seconds(86_400))
            if round == 2 { try await device.relaunch() }
            // As they were, and as a peer who wants them back could change them.
            for index in messages.indices where round % 2 == 1 { messages[index].stamp = MessageStamp(policy: .keep) }
            #expect(Set(try await device.retention.admit(messages.shuffled())) == [.replay])
        }
        #expect(try await device.shown() == [])
        #expect(try device.count("message") == 0)
    }

    @Test func `a message that is here is not admitted twice`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        #expect(try await device.admit("m1") == .kept(until: device.clocks.later(.seconds(3600))))
        #expect(try await device.admit("m1", .keep) == .replay)
        let twice = try [device.incoming("m2"), device.incoming("m2")]
        #expect(try await device.retention.admit(twice)[1] == .replay)
        #expect(try await device.shown() == ["m1", "m2"])
    }

    @Test func `what was over before it arrived is counted once, and nothing of it is kept`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        #expect(try await device.admit("m1", .oneHour, age: .seconds(3600)) == .arrivedExpired)
        #expect(try await device.admit("m1", .oneHour) == .replay)
        let sent = device.clocks.later(.seconds(-3600))
        #expect(try await device.admit("m2", .oneHour, relayTime: sent) == .arrivedExpired)
        #expect(try await device.retention.arrivedExpiredCount(in: RetentionFixture.conversation) == 2)
        #expect(try device.count("message") == 0)
    }

    @Test func `a tombstone that a relay's time makes needless goes, and its message stays away`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        let relayTime = device.clocks.now
        try await device.admit("m1", .oneHour, relayTime: relayTime)
        try await device.admit("m2", .oneHour)
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        #expect(try device.tombstoneCount() == 2)
        device.clocks.pass(.seconds(367 * 86_400))
        try await device.admit("m3")
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        #expect(try device.tombstoneCount() == 2)
        #expect(try await device.admit("m1", .oneHour, relayTime: relayTime) == .arrivedExpired)
        #expect(try await device.admit("m2", .oneHour) == .replay)
    }

    @Test func `a backup of the folder brings nothing back that was purged`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        try await device.admit("m1")
        await device.storage.close()
        let backup = device.folder.appendingPathExtension("backup")
        try FileManager.default.copyItem(at: device.folder, to: backup)
        defer { try? FileManager.default.removeItem(at: backup) }
        try await device.relaunch()
        device.clocks.pass(.seconds(7200))
        #expect(try await device.retention.purge().isComplete)
        await device.storage.close()
        try FileManager.default.removeItem(at: device.folder)
        try FileManager.default.copyItem(at: backup, to: device.folder)
        #expect(await CloakroomError.code { try await device.relaunch() } == .vaultLost)
        try await device.relaunch(beginningAnewIfLost: true)
        #expect(await device.storage.losses == [.vault])
        #expect(try await device.shown() == [])
        #expect(try await device.admit("m1") == .replay)
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(try device.count("message") == 0)
        #expect(try await device.admit("m1") == .replay)
        #expect(try await device.retention.agreement(in: RetentionFixture.conversation).own == .oneHour)
    }
}
