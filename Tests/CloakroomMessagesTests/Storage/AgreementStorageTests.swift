import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// What participants want reaches the messages that are here.
@Suite struct AgreementStorageTests {
    private let conversation = RetentionFixture.conversation

    @Test func `a default counts as said, and what was said is known after another launch`() async throws {
        let device = try await RetentionFixture()
        let first = try await device.retention.controlMessage(in: conversation)
        #expect(first.register == RetentionRegister(version: .first, policy: .noStorage))
        try await device.receive(device.said(.oneDay, version: 4))
        try await device.want(.oneWeek)
        try await device.relaunch()
        let agreement = try await device.retention.agreement(in: conversation)
        #expect(agreement.own == .oneWeek)
        #expect(agreement.peers == [RetentionFixture.peer: .oneDay])
        #expect(agreement.effective == .oneDay)
        let version = try await device.retention.controlMessage(in: conversation).register?.version
        #expect(version == RegisterVersion(device.clocks.reading.wall))
        #expect(try await device.retention.stamp(in: conversation).policy == .oneDay)
    }

    @Test func `changing to and fro does not prolong a message`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneHour)
        try await device.admit("m1")
        for _ in 0..<3 {
            device.clocks.pass(.seconds(900))
            try await device.want(.keep, .history)
            try await device.want(.oneHour, .history)
        }
        #expect(try await device.shown() == ["m1"])
        device.clocks.pass(.seconds(900))
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 1)
    }

    @Test func `a shorter policy with the history hides what is over at once, as was counted before`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        for index in 0..<300 {
            try await device.admit("m\(index)")
            device.clocks.pass(.seconds(60))
        }
        let impact = try await device.retention.impact(of: .oneHour, in: conversation)
        #expect(impact == 241)
        try await device.want(.oneHour, .history)
        #expect(try await device.shown().count == 300 - impact)
        #expect(try await device.retention.purge().purgedCount == impact)
        #expect(try await device.shown().count == 300 - impact)
        // Sealed anew, with keys that go in time.
        try await device.relaunch()
        #expect(try await device.shown().count == 300 - impact)
    }

    @Test func `messages that a cut ends are hidden before their deadlines are written`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        try await device.admit("m1")
        try await device.admit("m2", quotes: "m1")
        device.clocks.pass(.seconds(7200))
        try await device.admit("m3")
        // As when the process ends in between.
        let before = device.clocks.reading.wall
        _ = try await device.storage.join(
            RetentionRegister(
                version: .first, policy: .oneHour, cuts: RetentionCuts(.oneHour, before: before)),
            of: RetentionFixture.peer, in: conversation)
        #expect(try await device.shown() == ["m3"])
        try await device.relaunch()
        #expect(try await device.shown() == ["m3"])
        #expect(try await device.retention.nextDeadline() == device.clocks.now)
        #expect(try await device.retention.purge().purgedCount == 2)
    }

    @Test func `a peer shortens the past of their own messages alone`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        let mine = OutgoingMessage(id: try "mine".asMessage, in: conversation, body: Data("mine".utf8))
        _ = try await device.retention.keep(mine)
        try await device.admit("theirs")
        try await device.admit("another's", from: RetentionFixture.participant("third"))
        device.clocks.pass(.seconds(10))
        try await device.receive(
            device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall))
        #expect(try await device.shown() == ["mine", "another's"])
        try await device.retention.purge()
        #expect(try await device.shown() == ["mine", "another's"])
        #expect(try await device.retention.agreement(in: conversation).effective == .noStorage)
    }

    @Test func `what peers want cannot go below this device's limit`() async throws {
        let device = try await RetentionFixture(limits: RetentionLimits(minimumForPeers: .seconds(1800)))
        try await device.want(.oneWeek)
        try await device.admit("before")
        device.clocks.pass(.seconds(10))
        try await device.receive(
            device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall))
        try await device.admit("after", .noStorage)
        #expect(try await device.shown() == ["before", "after"])
        device.clocks.pass(.seconds(1795))
        #expect(try await device.shown() == ["after"])
        device.clocks.pass(.seconds(10))
        #expect(try await device.shown() == [])
    }

    @Test func `a strict member who leaves loosens new messages only`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        try await device.receive(device.said(.oneHour, version: 1))
        let stamp = try await device.retention.keep(
            OutgoingMessage(id: try "m1".asMessage, in: conversation, body: Data("1".utf8)))
        #expect(stamp.policy == .oneHour)
        try await device.retention.setMembers([RetentionFixture.own], of: conversation)
        #expect(try await device.retention.stamp(in: conversation).policy == .oneWeek)
        device.clocks.pass(.seconds(3600))
        #expect(try await device.shown() == [])
    }

    @Test func `a sender who says to keep does not outlast this user's policy`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneDay)
        #expect(try await device.admit("m1", .keep) == .kept(until: device.clocks.later(.seconds(86_400))))
    }

    @Test func `a quote ends with what it quotes, also when that falls later`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        try await device.admit("m1", .oneHour)
        #expect(try await device.admit("q1", quotes: "m1") == .kept(until: device.clocks.later(.seconds(3600))))
        try await device.admit("m2")
        try await device.admit("q2", from: RetentionFixture.participant("third"), quotes: "m2")
        try await device.admit(
            "q3", from: RetentionFixture.participant("third"), quotes: "q2",
            by: RetentionFixture.participant("third"))
        device.clocks.pass(.seconds(10))
        try await device.receive(
            device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall))
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 5)
        #expect(try await device.admit("late", quotes: "m2") == .arrivedExpired)
    }

    @Test func `a quote in memory stays with what it quotes when a peer says something`() async throws {
        let device = try await RetentionFixture()
        try await device.admit("m1")
        try await device.admit("m2", quotes: "m1")
        try await device.receive(device.said(.keep, version: 1))
        #expect(try await device.shown() == ["m1", "m2"])
    }

    @Test func `a reply to what was in memory is kept after that was closed`() async throws {
        let device = try await RetentionFixture()
        try await device.admit("m1")
        try await device.retention.close(conversation)
        guard case .kept = try await device.admit("m2", quotes: "m1") else {
            Issue.record("the reply is not over")
            return
        }
        #expect(try await device.shown() == ["m2"])
    }

    @Test func `changes of another conversation do not have a scan begin anew`() async throws {
        let device = try await RetentionFixture()
        let other = RetentionFixture.conversation("c2")
        try await device.want(.keep)
        for index in 0..<4 { try await device.admit("m\(index)") }
        let before = device.clocks.reading.wall + 1
        func join(_ policy: MessageRetentionPolicy, _ version: Int64, in name: ConversationID) async throws {
            let message = try device.said(policy, version: version, cutBefore: before)
            try await device.storage.join(try #require(message.register), of: RetentionFixture.peer, in: name)
        }
        try await join(.oneDay, 1, in: conversation)
        var scan = try await device.storage.applyCuts(in: conversation, after: nil, limit: 2)
        try await join(.oneDay, 1, in: other)
        while scan != nil {
            scan = try await device.storage.applyCuts(in: conversation, after: scan, limit: 2)
            #expect(scan?.isStale != true)
        }
        try await join(.oneHour, 2, in: conversation)
        scan = try await device.storage.applyCuts(in: conversation, after: nil, limit: 2)
        try await join(.noStorage, 3, in: conversation)
        while scan?.isStale == false {
            scan = try await device.storage.applyCuts(in: conversation, after: scan, limit: 2)
        }
        // A purge goes on here with other conversations, and what is left is hidden.
        #expect(scan?.isStale == true)
        #expect(try await device.storage.pendingCuts().contains(conversation))
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 4)
    }

    @Test func `cuts that come while others are applied reach all messages`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        for index in 0..<4 { try await device.admit("m\(index)") }
        let before = device.clocks.reading.wall + 1
        func join(_ policy: MessageRetentionPolicy, _ version: Int64) async throws {
            let message = try device.said(policy, version: version, cutBefore: before)
            let register = try #require(message.register)
            try await device.storage.join(register, of: RetentionFixture.peer, in: conversation)
        }
        try await join(.oneDay, 1)
        var first = try await device.storage.applyCuts(in: conversation, after: nil, limit: 2)
        try await join(.oneHour, 2)
        // Another scan is on its way, too, and behind the first one.
        var second = try await device.storage.applyCuts(in: conversation, after: nil, limit: 1)
        while first != nil { first = try await device.storage.applyCuts(in: conversation, after: first, limit: 2) }
        while second != nil { second = try await device.storage.applyCuts(in: conversation, after: second, limit: 1) }
        let fallen = try device.connect().first("SELECT count(*) FROM message WHERE deadline = base + 3600000") {
            $0.integer(0)
        }
        #expect(fallen == 4)
    }

    @Test func `a control message that is forged or too far ahead changes nothing`() async throws {
        let device = try await RetentionFixture()
        try await device.receive(device.said(.oneDay, version: 4))
        let before = try await device.retention.agreement(in: conversation)
        let ahead = try device.said(
            .oneHour, version: 5, cutBefore: device.clocks.reading.wall + Milliseconds.day + 1)
        #expect(await CloakroomError.code { try await device.receive(ahead) } == .invalidControlMessage)
        let forged = try device.said(.oneHour, version: 5, by: RetentionFixture.own)
        #expect(await CloakroomError.code { try await device.receive(forged) } == .invalidControlMessage)
        try await device.receive(device.said(.keep, version: 3))
        try await device.receive(device.said(.oneDay, version: 4))
        #expect(try await device.retention.agreement(in: conversation) == before)
    }
}
