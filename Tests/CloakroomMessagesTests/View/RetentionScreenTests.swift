import CloakroomKit
import Foundation
import Testing

@testable import CloakroomMessages

/// The view model on real storages: those of two users who send each other what they want.
@MainActor
@Suite(.serialized) struct RetentionScreenTests {
    private let english = RetentionLanguage(locale: Locale(identifier: "en_US"))

    @Test func `both see that they want different times, and what holds`() async throws {
        let chat = try await ScreenChat()
        for phone in chat.phones { await phone.connect() }
        let (own, peer) = (chat.phones[0], chat.phones[1])
        await own.model.choose(.oneDay)
        await own.model.apply(to: .newMessages)
        await peer.model.choose(.oneHour)
        await peer.model.apply(to: .newMessages)
        for phone in chat.phones {
            await phone.model.refresh()
            let agreement = try #require(phone.model.state.agreement)
            #expect(
                english.notes(on: agreement) == ["What holds for new messages: 1 hour", "Not all want the same."])
        }
        #expect(own.model.state.participants.map(\.policy) == [.oneDay, .oneHour])
        #expect(peer.model.state.participants.map(\.policy) == [.oneHour, .oneDay])
    }

    @Test func `a peer who has sent nothing is not confirmed`() async throws {
        let chat = try await ScreenChat()
        let own = chat.phones[0]
        await own.model.refresh()
        #expect(own.model.state.agreement?.unconfirmed == [chat.phones[1].retention.participant])
        #expect(own.model.state.selection == .noStorage)
    }

    @Test func `counts what a change would remove, and removes just that`() async throws {
        let chat = try await ScreenChat()
        let own = chat.phones[0]
        await own.model.choose(.keep)
        await own.model.apply(to: .newMessages)
        for number in 0..<3 { try await own.admit("old \(number)") }
        chat.clock.pass(.seconds(7200))
        for number in 0..<2 { try await own.admit("new \(number)") }

        await own.model.choose(.oneHour)
        #expect(own.model.state.task == .confirmChange(RetentionChange(to: .oneHour, endingCount: 3)))
        #expect(try await own.shown() == 5)
        await own.model.apply(to: .history)
        #expect(try await own.shown() == 2)
        #expect(own.model.state.failure == nil)
        #expect(own.model.state.selection == .oneHour)
    }

    @Test func `a change for new messages leaves those that are here`() async throws {
        let chat = try await ScreenChat()
        let own = chat.phones[0]
        await own.model.choose(.keep)
        await own.model.apply(to: .newMessages)
        try await own.admit("old")
        chat.clock.pass(.seconds(7200))
        await own.model.choose(.oneHour)
        await own.model.apply(to: .newMessages)
        #expect(try await own.shown() == 1)
        try await own.admit("new")
        chat.clock.pass(.seconds(3600))
        #expect(try await own.shown() == 1)
    }

    @Test func `deletes all that is here, stored and in memory, and counts it before`() async throws {
        let chat = try await ScreenChat()
        let own = chat.phones[0]
        await own.model.choose(.oneDay)
        await own.model.apply(to: .newMessages)
        for number in 0..<3 { try await own.admit("stored \(number)") }
        try await own.admit("in memory", .noStorage)
        try await own.admit("over", .oneHour, age: .seconds(7200))
        await own.model.refresh()
        #expect(own.model.state.arrivedExpiredCount == 1)

        await own.model.previewDeletion()
        #expect(own.model.state.task == .confirmDeletion(messageCount: 4))
        await own.model.deleteAll()
        guard case .deleted(messageCount: 4, let report) = own.model.state.task else {
            Issue.record("\(own.model.state.task)")
            return
        }
        #expect(report.stoppedBy == nil)
        #expect(try await own.shown() == 0)
        #expect(try await own.count() == 0)
    }

    @Test func `does not count messages that are over, whether or not they are purged`() async throws {
        let chat = try await ScreenChat()
        let own = chat.phones[0]
        await own.model.choose(.oneHour)
        await own.model.apply(to: .newMessages)
        try await own.admit("old")
        chat.clock.pass(.seconds(1800))
        try await own.admit("new")
        chat.clock.pass(.seconds(1800))
        await own.model.previewDeletion()
        #expect(own.model.state.task == .confirmDeletion(messageCount: 1))
    }
}
