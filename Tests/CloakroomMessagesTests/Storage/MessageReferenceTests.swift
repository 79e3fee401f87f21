import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// A message is its author's, in its conversation: no other participant can use its name up.
@Suite struct MessageReferenceTests {
    private let third = RetentionFixture.participant("third")
    private let other = RetentionFixture.conversation("c2")

    @Test func `another participant who uses an id first keeps no other author's message out`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour, from: third)
        #expect(try await device.admit("m1") == .kept(until: nil))
        #expect(try await device.admit("m1") == .replay)
        let mine = OutgoingMessage(id: try "m1".asMessage, in: RetentionFixture.conversation, body: Data("mine".utf8))
        _ = try await device.retention.keep(mine)
        #expect(await CloakroomError.code { _ = try await device.retention.keep(mine) } == .invalidRequest)
        // Also what was in memory only, and what was purged.
        try await device.want(.noStorage)
        try await device.admit("m2", from: third)
        try await device.want(.keep)
        #expect(try await device.admit("m2") == .kept(until: nil))
        device.clocks.pass(.seconds(3600))
        #expect(try await device.retention.purge().purgedCount == 1)
        #expect(try await device.admit("m1", from: third) == .replay)
        #expect(
            device.handler.messages
                == [MessageReference(try "m1".asMessage, by: third, in: RetentionFixture.conversation)])
    }

    @Test func `the same id in another conversation is another message`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.retention.updateRetentionPolicy(.keep, in: other, applyingTo: .newMessages)
        try await device.admit("m1")
        #expect(try await device.retention.admit(device.incoming("m1", in: other)) == .kept(until: nil))
        try await device.retention.deleteAll(in: other)
        #expect(try await device.shown() == ["m1"])
    }

    @Test func `each call finds the message of the author it names`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour, from: third, attachments: [.init(assetKey: "chats/third")])
        try await device.admit("m1", .oneDay, attachments: [.init(assetKey: "chats/peer")])
        let message = try #require(try await device.retention.message("m1".asReference))
        #expect(message.author == RetentionFixture.peer)
        #expect(message.reference == (try "m1".asReference))
        #expect(try await device.retention.stamp(of: message.reference)?.policy == .oneDay)
        let file = try #require(try await device.retention.keepAttachment(Data([1]), at: 0, of: message.reference))
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        #expect(try await device.retention.attachment(file) == Data([1]))
        #expect(try await device.retention.message("m1".asReference)?.attachments[0].file == file)
    }

    @Test func `a quote ends with the message of the author it names, after another launch too`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour, from: third)
        try await device.admit("m1", .oneDay)
        #expect(
            try await device.admit("q1", quotes: "m1", by: third) == .kept(until: device.clocks.later(.seconds(3600))))
        #expect(try await device.admit("q2", quotes: "m1") == .kept(until: device.clocks.later(.seconds(86_400))))
        try await device.relaunch()
        #expect(try await device.retention.message("q1".asReference)?.quotes?.author == third)
        device.clocks.pass(.seconds(10))
        try await device.receive(
            device.said(.noStorage, version: 9, cutBefore: device.clocks.reading.wall, by: third), from: third)
        #expect(try await device.shown() == ["m1", "q2"])
    }

    @Test func `a quote of another conversation is refused from this user and left out of a peer's`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit("m1", .oneHour)
        let foreign = MessageReference(try "m1".asMessage, by: RetentionFixture.peer, in: other)
        let outgoing = OutgoingMessage(
            id: try "o1".asMessage, in: RetentionFixture.conversation, body: Data(), quotes: foreign)
        #expect(await CloakroomError.code { _ = try await device.retention.keep(outgoing) } == .invalidRequest)
        var incoming = try device.incoming("q1")
        incoming.quotes = foreign
        #expect(try await device.retention.admit(incoming) == .kept(until: nil))
        #expect(try await device.retention.message("q1".asReference)?.quotes == nil)
    }
}
