import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// What becomes of a message depends on why the one that it quotes is gone, and on who has ended that.
@Suite struct DepartedQuoteTests {
    private let third = RetentionFixture.participant("third")
    private let conversation = RetentionFixture.conversation
    private static let hour = RetentionLimits(minimumForPeers: .seconds(3600))

    private func isKept(_ admission: Admission) -> Bool { if case .kept = admission { true } else { false } }

    // MARK: Gone

    @Test(arguments: [true, false])
    func `a reply to what was deleted here is kept, with what quotes it`(isPurged: Bool) async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1")
        if !isPurged { device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked")) }
        try await device.retention.deleteAll(in: conversation)
        #expect(try device.count("message") == (isPurged ? 0 : 1))
        try await device.admit("next", from: third, quotes: "reply", by: third)
        #expect(isKept(try await device.admit("reply", from: third, quotes: "m1")))
        #expect(try await device.shown() == ["next", "reply"])
        // And after a change that reaches back.
        device.clocks.pass(.seconds(1))
        try await device.receive(device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall))
        #expect(try await device.shown() == ["next", "reply"])
        device.handler.fail(with: nil)
        try await device.retention.purge()
        try await device.relaunch()
        #expect(isKept(try await device.admit("late", from: third, quotes: "m1")))
        // This user no longer sees what is deleted.
        let message = OutgoingMessage(
            id: try "own".asMessage, in: conversation, body: Data(), quotes: try "m1".asReference)
        #expect(await CloakroomError.code { _ = try await device.retention.keep(message) } == .invalidRequest)
    }

    @Test(arguments: [true, false])
    func `replies to one message that was deleted here stay, and so do those that come later`(
        isPurged: Bool
    ) async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1")
        try await device.admit("reply", from: third, quotes: "m1")
        if !isPurged { device.handler.fail(with: CloakroomError(.storeFailed, "the index is locked")) }
        try await device.retention.delete("m1".asReference)
        #expect(try device.count("message") == (isPurged ? 1 : 2))
        #expect(isKept(try await device.admit("late", from: third, quotes: "m1")))
        // And after a change that reaches back.
        device.clocks.pass(.seconds(1))
        try await device.receive(device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall))
        device.handler.fail(with: nil)
        try await device.retention.purge()
        try await device.relaunch()
        #expect(try await device.shown() == ["reply", "late"])
        #expect(device.handler.ids.allSatisfy { $0 == "m1" })
        let message = OutgoingMessage(
            id: try "own".asMessage, in: conversation, body: Data(), quotes: try "m1".asReference)
        #expect(await CloakroomError.code { _ = try await device.retention.keep(message) } == .invalidRequest)
    }

    @Test func `a reply to what ended after others were deleted is over`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("deleted")
        try await device.retention.deleteAll(in: conversation)
        try await device.admit("m1", .oneHour)
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        #expect(try await device.admit("reply", from: third, quotes: "m1") == .arrivedExpired)
    }

    @Test func `a reply to what was in memory is kept, also where it is stored`() async throws {
        let device = try await RetentionFixture()
        try await device.admit("m1")
        try await device.retention.close(conversation)
        try await device.want(.oneDay)
        #expect(isKept(try await device.admit("reply", from: third, quotes: "m1")))
        try await device.relaunch()
        #expect(try await device.shown() == ["reply"])
    }

    @Test func `a reply to what is not stored is not stored, for other participants neither`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .noStorage)
        let reply = OutgoingMessage(
            id: try "reply".asMessage, in: conversation, body: Data(), quotes: try "m1".asReference)
        #expect(try await device.retention.keep(reply).policy == .noStorage)
    }

    // MARK: Ended by a peer

    @Test(arguments: [true, false])
    func `the age that a peer gives a message ends replies to it no sooner than the minimum`(
        hasMinimum: Bool
    ) async throws {
        let device = try await RetentionFixture(limits: hasMinimum ? Self.hour : RetentionLimits())
        try await device.want(.keep)
        try await device.admit("next", .oneWeek, from: third, quotes: "reply", by: third)
        try await device.admit("reply", .oneWeek, from: third, quotes: "m1")
        #expect(try await device.admit("m1", .oneHour, age: .seconds(300 * 86_400)) == .arrivedExpired)
        try await device.admit("late", .oneWeek, from: third, quotes: "m1")
        #expect(try await device.shown() == (hasMinimum ? ["next", "reply", "late"] : []))
        device.clocks.pass(.seconds(3599))
        try await device.retention.purge()
        #expect(try await device.shown() == (hasMinimum ? ["next", "reply", "late"] : []))
        device.clocks.pass(.seconds(1))
        try await device.retention.purge()
        #expect(try device.count("message") == 0)
    }

    @Test func `a peer's change ends replies to their messages no sooner than the minimum`() async throws {
        let device = try await RetentionFixture(limits: Self.hour)
        try await device.want(.oneWeek)
        try await device.admit("m1", .oneDay)
        device.clocks.pass(.seconds(7200))
        let reply = OutgoingMessage(
            id: try "reply".asMessage, in: conversation, body: RetentionFixture.body("reply"),
            quotes: try "m1".asReference)
        #expect(try await device.retention.keep(reply).policy.afterSent == .seconds(86_400 - 7200))
        try await device.receive(device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall))
        #expect(try await device.shown() == ["reply"])
        // One that is written when what it quotes has ended for others already.
        try await device.admit("m2", .oneDay)
        device.clocks.pass(.seconds(1))
        try await device.receive(device.said(.noStorage, version: 10, cutBefore: device.clocks.reading.wall))
        let second = OutgoingMessage(
            id: try "second".asMessage, in: conversation, body: Data(), quotes: try "m2".asReference)
        #expect(try await device.retention.keep(second).policy == .oneHour)
        device.clocks.pass(.seconds(3598))
        #expect(try await device.shown() == ["reply", "m2", "second"])
        device.clocks.pass(.seconds(3))
        #expect(try await device.shown() == [])
    }

    @Test func `this user's own change ends replies at once, whatever the minimum`() async throws {
        let device = try await RetentionFixture(limits: Self.hour)
        try await device.want(.oneWeek)
        try await device.admit("m1", .oneWeek)
        try await device.admit("reply", .oneWeek, from: third, quotes: "m1")
        // After the change the policy of new messages is another one, and the reply's base is the newest.
        device.clocks.pass(.seconds(7200))
        try await device.want(.oneHour, .history)
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 2)
    }

    @Test func `a reply to this user's own message is not ended by what a peer wants, either`() async throws {
        let device = try await RetentionFixture(limits: Self.hour)
        try await device.want(.keep)
        try await device.receive(device.said(.noStorage, version: 9))
        func keep(_ id: String, quoting quoted: String? = nil) async throws -> MessageStamp {
            try await device.retention.keep(
                OutgoingMessage(
                    id: try id.asMessage, in: conversation, body: RetentionFixture.body(id),
                    quotes: try quoted.map { try $0.asOwn }))
        }
        #expect(try await keep("own").policy == .oneHour)
        device.clocks.pass(.seconds(3540))
        #expect(try await keep("reply", quoting: "own").policy == .oneHour)
        try await device.admit("another", .oneHour, from: third, quotes: "own", by: RetentionFixture.own)
        device.clocks.pass(.seconds(3500))
        #expect(try await device.shown() == ["reply", "another"])
        device.clocks.pass(.seconds(100))
        #expect(try await device.shown() == [])
    }

    @Test func `a reply that a change hides stays hidden when what it quotes is purged first`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        // Behind what it quotes, in the order of the scan.
        try await device.admit("m1", age: .seconds(100))
        for index in 0..<4 { try await device.admit("m\(index + 2)", from: third, age: .seconds(50)) }
        try await device.admit("reply", from: third, quotes: "m1")
        device.clocks.pass(.seconds(1))
        let before = device.clocks.reading.wall
        let message = try device.said(.noStorage, version: 9, cutBefore: before)
        try await device.storage.join(try #require(message.register), of: RetentionFixture.peer, in: conversation)
        var scan = try await device.storage.applyCuts(in: conversation, after: nil, limit: 1)
        #expect(!(try await device.shown()).contains("reply"))
        try device.connect().run("DELETE FROM message WHERE name = 'm1'")
        while scan != nil { scan = try await device.storage.applyCuts(in: conversation, after: scan, limit: 1) }
        #expect(try await device.shown() == ["m2", "m3", "m4", "m5"])
    }

    // MARK: In memory

    @Test func `a message in memory ends with one that it quotes and that arrives later`() async throws {
        let device = try await RetentionFixture()
        try await device.admit("quoting", quotes: "m1")
        try await device.want(.keep)
        device.clocks.pass(.seconds(1))
        try await device.admit("m1", .oneHour)
        #expect(try await device.shown() == ["quoting", "m1"])
        device.clocks.pass(.seconds(3600))
        #expect(try await device.shown() == [])
        // And with one that is over when it arrives.
        try await device.admit("another", .noStorage, quotes: "m2")
        #expect(try await device.admit("m2", .oneHour, age: .seconds(3600)) == .arrivedExpired)
        #expect(try await device.shown() == [])
    }

    @Test func `a stored message ends with one in memory that it quotes and that arrives later`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("quoting", from: third, quotes: "m1")
        try await device.want(.noStorage)
        try await device.admit("m1", .oneHour)
        device.clocks.pass(.seconds(3600))
        #expect(try await device.shown() == [])
        #expect(try await device.retention.purge().purgedCount == 1)
    }

    @Test func `messages in memory that quote each other end together, in any order and in circles`() async throws {
        let device = try await RetentionFixture()
        // Each quotes one that was sent later, and the last ones quote each other.
        for index in 0..<50 {
            try await device.admit(
                "q\(index)", .noStorage, from: third, age: .seconds(100 - index), quotes: "q\(index + 1)", by: third)
        }
        try await device.admit("q50", .noStorage, from: third, age: .seconds(50), quotes: "m1")
        try await device.admit("m1", .noStorage, age: .seconds(49), quotes: "q51", by: third)
        try await device.admit("q51", .noStorage, from: third, age: .seconds(1), quotes: "m1")
        #expect(try await device.shown().count == 53)
        try await device.receive(device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall))
        #expect(try await device.shown() == [])
    }

    @Test func `a change that comes while a message for memory is admitted reaches it`() async throws {
        let memory = MemoryMessageStorage()
        let draft = MessageDraft(
            id: try "m1".asMessage, conversation: conversation, author: third, stamp: .keep, body: Data(),
            attachments: [])
        let record = MessageRecord(
            sequence: 0, draft: draft, base: MessageBase(time: 1, clock: .server), ownPolicy: .noStorage,
            term: .endless)
        let openings = await memory.openings(of: [conversation])
        _ = await memory.beginLowering(in: conversation)
        #expect(await memory.insert(record, since: openings) == .insertedLate)
        let later = await memory.openings(of: [conversation])
        #expect(await memory.insert(record, since: later) == .inserted)
        _ = await memory.close(conversation)
        #expect(await memory.insert(record, since: later) == .ended)
    }
}
