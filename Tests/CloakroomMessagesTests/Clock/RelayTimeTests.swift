import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// A device whose only other clock is a relay's: what it tells comes late by as long as a message was on its way.
@Suite struct RelayTimeTests {
    private let conversation = RetentionFixture.conversation

    /// A right clock, a message without a relay's time, and a change with the history that counts from it.
    private func device() async throws -> (RetentionFixture, before: Milliseconds) {
        let device = try await RetentionFixture(server: false)
        try await device.want(.oneWeek)
        try await device.admit("old")
        let before = device.clocks.reading.wall + 1
        device.clocks.pass(.seconds(10))
        try await device.want(.oneHour, .history)
        try await device.want(.oneWeek)
        #expect(try await ownCut(device) == before)
        return (device, before)
    }

    private func ownCut(_ device: RetentionFixture) async throws -> Milliseconds? {
        try await device.retention.controlMessage(in: conversation).register?.cuts.latest
    }

    private func relayTime(_ device: RetentionFixture, onItsWay: Milliseconds) -> Date {
        (device.clocks.reading.wall - onItsWay).date
    }

    @Test func `a cut follows the relay's messages that were less delayed, and the server`() async throws {
        let (device, before) = try await device()
        try await device.admit("m1", relayTime: relayTime(device, onItsWay: .day))
        #expect(try await ownCut(device) == before - .day)
        #expect(try await device.shown() == ["m1", "old"])
        device.clocks.pass(.seconds(60))
        try await device.admit("m2", relayTime: relayTime(device, onItsWay: 3_600_000))
        #expect(try await ownCut(device) == before - 3_600_000)
        // It was sent a day before the change, as it turns out.
        #expect(try await device.shown() == ["m2", "old"])
        #expect(try await device.retention.purge().purgedCount == 1)
        // What comes late says nothing new.
        try await device.admit("m3", relayTime: relayTime(device, onItsWay: .day))
        #expect(try await ownCut(device) == before - 3_600_000)
        try await device.relaunch()
        device.clocks.hearServer()
        _ = try await device.shown()
        #expect(try await ownCut(device) == before)
        // Now it is certain.
        device.clocks.hearServer(ahead: .seconds(3600))
        _ = try await device.shown()
        #expect(try await ownCut(device) == before)
    }

    @Test func `of messages that come together the one that was least delayed tells the time`() async throws {
        let (device, before) = try await device()
        let admissions = try await device.retention.admit([
            device.incoming("m1", .oneHour, relayTime: relayTime(device, onItsWay: .day)),
            device.incoming("m2", .oneHour, relayTime: relayTime(device, onItsWay: 0)),
            device.incoming("m3", .oneHour, relayTime: relayTime(device, onItsWay: 7_200_000)),
        ])
        #expect(try await ownCut(device) == before)
        // So what is over does not begin anew.
        #expect(
            admissions == [
                .arrivedExpired, .kept(until: (device.clocks.reading.wall + 3_600_000).date), .arrivedExpired,
            ])
    }

    @Test func `a cut that counts from a relay's message is certain`() async throws {
        let (device, before) = try await device()
        device.clocks.pass(.seconds(60))
        let sent = relayTime(device, onItsWay: .day)
        try await device.admit("late", relayTime: sent)
        // The first message, without a relay's time, counts as no newer than what was heard.
        try await device.retention.deleteAll(in: conversation)
        try await device.admit("m1", relayTime: sent)
        // Another duration than that of the cut that is not certain.
        try await device.want(.oneDay, .history)
        func cuts() async throws -> [Int64: Milliseconds] {
            let cuts = try await device.retention.controlMessage(in: conversation).register?.cuts.all ?? []
            return Dictionary(cuts.map { ($0.seconds, $0.before) }, uniquingKeysWith: max)
        }
        let cut = Milliseconds(sent) + 1
        #expect(try await cuts()[86_400] == cut)
        #expect(try await cuts()[3600] == before - .day)
        try await device.admit("m2", relayTime: relayTime(device, onItsWay: 0))
        #expect(try await cuts() == [86_400: cut, 3600: before])
        device.clocks.hearServer()
        _ = try await device.shown()
        #expect(try await cuts() == [86_400: cut, 3600: before])
    }

    @Test(arguments: [false, true])
    func `time while the device was off is no reason to move a cut`(isRelay: Bool) async throws {
        let (device, before) = try await device()
        await device.storage.close()
        device.clocks.restart(after: .seconds(10 * 86_400))
        try await device.relaunch()
        _ = try await device.shown()
        if isRelay {
            try await device.admit("m1", relayTime: relayTime(device, onItsWay: 0))
        } else {
            device.clocks.hearServer()
            _ = try await device.shown()
        }
        #expect(try await ownCut(device) == before)
        // Sent while it was off, by another device of this user: the change was not for that.
        let sent = relayTime(device, onItsWay: 5 * .day)
        try await device.admit("m2", from: RetentionFixture.own, relayTime: sent)
        let end = try await device.retention.message("m2".asOwn)?.expiration
        #expect(end == sent.addingTimeInterval(7 * 86_400))
        guard isRelay else { return }
        await device.storage.close()
        device.clocks.restart(after: .seconds(10 * 86_400))
        try await device.relaunch()
        try await device.admit("m3", relayTime: relayTime(device, onItsWay: 5 * .day))
        #expect(try await ownCut(device) == before)
    }

    @Test func `a clock that was wrong all the time is corrected after a restart, too`() async throws {
        let (device, before) = try await device()
        await device.storage.close()
        device.clocks.restart(after: .seconds(10 * 86_400))
        try await device.relaunch()
        device.clocks.hearServer(ahead: .seconds(-365 * 86_400))
        _ = try await device.shown()
        #expect(try await ownCut(device) == before - 365 * .day)
    }
}
