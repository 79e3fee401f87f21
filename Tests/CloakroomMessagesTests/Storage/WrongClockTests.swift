import CloakroomKit
@testable import CloakroomMessages
import Foundation
import Testing

/// What a wrong clock must not do.
@Suite struct WrongClockTests {
    private let conversation = RetentionFixture.conversation

    /// A device that has never heard of the right time, and is a year ahead of it.
    private func ahead() async throws -> RetentionFixture {
        let device = try await RetentionFixture(server: false)
        try await device.want(.oneWeek)
        try await device.admit("old")
        device.clocks.pass(.seconds(7200))
        try await device.want(.oneHour, .history)
        #expect(try await device.shown() == [])
        try await device.want(.oneWeek)
        return device
    }

    private func ownCuts(_ device: RetentionFixture) async throws -> RetentionCuts? {
        try await device.retention.controlMessage(in: conversation).register?.cuts
    }

    @Test func `this user's cuts follow when the server's time becomes known`() async throws {
        let device = try await ahead()
        device.clocks.hearServer(ahead: .seconds(-365 * 86_400))
        try await device.admit("new")
        device.clocks.pass(.seconds(7200))
        #expect(try await device.shown() == ["new"])
        let latest = try #require(try await ownCuts(device)?.latest)
        let server = try #require(device.clocks.reading.server)
        #expect(latest < server)
        #expect(latest > server - 5 * 3600 * 1000)
        // So peers do not refuse what this user wants.
        try await device.relaunch()
        let message = try await device.retention.controlMessage(in: conversation)
        let sender = AuthenticatedSender(RetentionFixture.own, in: conversation)
        #expect(try message.register(from: sender, at: server) != nil)
    }

    @Test func `this user's cuts follow when a relay's time becomes known`() async throws {
        let device = try await ahead()
        let relay = device.clocks.later(.seconds(-365 * 86_400))
        try await device.admit("new", relayTime: relay)
        device.clocks.pass(.seconds(7200))
        #expect(try await device.shown() == ["new"])
        #expect(try #require(try await ownCuts(device)?.latest).date < relay)
    }

    @Test func `a message that is written by a clock which lags is sent, also where a change has it end at once`()
        async throws
    {
        let device = try await RetentionFixture(server: false)
        // From another device of this user, which knows the time.
        let before = device.clocks.reading.wall + 5 * 3_600_000
        try await device.receive(
            device.said(.noStorage, version: 4, cutBefore: before, by: RetentionFixture.own), from: RetentionFixture.own
        )
        try await device.want(.oneWeek)
        let message = OutgoingMessage(id: try "new".asMessage, in: conversation, body: Data("new".utf8))
        #expect(try await device.retention.keep(message).policy == .oneWeek)
        #expect(try await device.shown() == [])
    }

    @Test func `cuts that were made with the right time stay when a wrong one is corrected`() async throws {
        let device = try await RetentionFixture(server: false)
        // From another device of this user, which knows it.
        let before = device.clocks.reading.wall - 400 * Milliseconds.day
        try await device.receive(
            device.said(.oneHour, version: 4, cutBefore: before, by: RetentionFixture.own), from: RetentionFixture.own)
        try await device.admit("old")
        try await device.want(.oneHour, .history)
        device.clocks.hearServer(ahead: .seconds(-500 * 86_400))
        _ = try await device.shown()
        #expect(try await ownCuts(device)?.latest == before)
    }

    @Test func `a cut reaches no further ahead than peers accept`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.oneWeek)
        // A relay that is wrong by a month.
        try await device.admit("m1", relayTime: device.clocks.later(.seconds(30 * 86_400)))
        try await device.want(.oneHour, .history)
        let message = try await device.retention.controlMessage(in: conversation)
        let sender = AuthenticatedSender(RetentionFixture.own, in: conversation)
        #expect(try message.register(from: sender, at: device.clocks.reading.wall)?.policy == .oneHour)
    }

    @Test(arguments: [false, true]) func `a clock that is set back after each start makes nothing younger`(
        isKilled: Bool
    ) async throws {
        let device = try await RetentionFixture(server: false)
        try await device.want(.oneHour)
        try await device.admit("m1")
        for _ in 0..<3 {
            #expect(try await device.shown() == ["m1"])
            device.clocks.pass(.seconds(1500))
            // The last time that it is read is what counts.
            _ = try await device.shown()
            if isKilled { await device.storage.release() } else { await device.storage.close() }
            device.clocks.restart(after: .seconds(-1500))
            if isKilled { try await device.relaunchKilled() } else { try await device.relaunch() }
            if try await device.shown() == [] { return }
        }
        Issue.record("75 minutes have passed, and it is still shown")
    }

    @Test func `reading writes the time down once a minute, and is possible when that fails`() async throws {
        let device = try await RetentionFixture(server: false)
        func written() throws -> String? {
            try device.connect().first("SELECT state FROM clock") { $0.text(0) }
        }
        try await device.want(.keep)
        try await device.admit("m1")
        device.clocks.pass(.seconds(61))
        #expect(try await device.shown() == ["m1"])
        let first = try written()
        device.clocks.pass(.seconds(59))
        #expect(try await device.shown() == ["m1"])
        #expect(try written() == first)
        _ = try await device.storage.pragmas(["busy_timeout = 0"])
        let writer = try device.connect()
        try writer.run("BEGIN IMMEDIATE")
        device.clocks.pass(.seconds(2))
        #expect(try await device.shown() == ["m1"])
        try writer.run("COMMIT")
        #expect(try await device.shown() == ["m1"])
        #expect(try written() != first)
    }

    @Test func `releases are repeated by a clock that cannot be set`() async throws {
        let device = try await RetentionFixture()
        try await device.want(.keep)
        try await device.admit(
            "m1", .oneHour, from: RetentionFixture.own,
            attachments: [.init(assetKey: "chat/1", releaseToken: "token")])
        device.clocks.pass(.seconds(3600))
        try await device.retention.purge()
        device.releaser.fail(with: CloakroomError(.unreachable, "offline"))
        device.clocks.set(by: .seconds(365 * 86_400))
        #expect(
            await CloakroomError.code { _ = try await device.retention.releaseAssets(retry: false) } == .unreachable)
        device.releaser.fail(with: nil)
        device.clocks.set(by: .seconds(-365 * 86_400))
        #expect(try await device.retention.releaseAssets(retry: false) == 0)
        device.clocks.pass(.seconds(61))
        #expect(try await device.retention.releaseAssets(retry: false) == 1)
    }

    // MARK: The agreement

    @Test func `what a device wants after it was erased is later than what peers know`() async throws {
        let device = try await RetentionFixture()
        for policy in [MessageRetentionPolicy.oneDay, .keep, .oneWeek] { try await device.want(policy) }
        let known = try #require(try await device.retention.controlMessage(in: conversation).register)
        device.clocks.pass(.seconds(1))
        try await device.retention.eraseEverything()
        // A default is not what the user has decided.
        let first = try #require(try await device.retention.controlMessage(in: conversation).register)
        #expect(known.joined(first).policy == .oneWeek)
        try await device.want(.oneHour)
        let changed = try #require(try await device.retention.controlMessage(in: conversation).register)
        #expect(known.joined(changed).policy == .oneHour)
    }

    @Test func `a peer whose app is later is unconfirmed after another launch, until they are understood`() async throws
    {
        let device = try await RetentionFixture()
        try await device.receive(device.said(.oneDay, version: 4))
        let sender = AuthenticatedSender(RetentionFixture.peer, in: conversation)
        let data = Data(#"{"v":2,"kind":"retention"}"#.utf8)
        let later = try #require(try RetentionPolicyMessage.decoded(data, from: sender))
        try await device.receive(later)
        try await device.relaunch()
        #expect(try await device.retention.agreement(in: conversation).peers == [RetentionFixture.peer: nil])
        try await device.receive(device.said(.oneDay, version: 4))
        try await device.relaunch()
        #expect(try await device.retention.agreement(in: conversation).peers == [RetentionFixture.peer: .oneDay])
    }

    /// What another device of this user says: all that it has heard, and a policy of its own.
    @Test(arguments: [false, true]) func `a change by a slow clock is corrected also when another device has cut, too`(
        isEcho: Bool
    ) async throws {
        let device = try await RetentionFixture(server: false)
        try await device.want(.oneWeek)
        try await device.admit("old")
        let base = device.clocks.reading.wall
        device.clocks.pass(.seconds(60))
        func hearOther(_ before: Milliseconds) async throws {
            let version = try #require(
                try await device.retention.controlMessage(in: conversation).register?.version.number)
            try await device.receive(
                device.said(.oneHour, version: version + 5, cutBefore: before, by: RetentionFixture.own),
                from: RetentionFixture.own)
        }
        if !isEcho { try await hearOther(base + 3_600_000) }
        try await device.want(.oneHour, .history)
        if isEcho { try await hearOther(base + 1) }
        let difference = 365 * Milliseconds.day
        device.clocks.hearServer(ahead: .milliseconds(difference))
        _ = try await device.shown()
        #expect(try await ownCuts(device)?.latest == base + 1 + difference)
    }
}
