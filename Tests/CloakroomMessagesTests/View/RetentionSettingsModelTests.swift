import CloakroomKit
import Foundation
import Synchronization
import Testing

@testable import CloakroomMessages

@MainActor
@Suite(.serialized) struct RetentionSettingsModelTests {
    private let english = RetentionLanguage(locale: Locale(identifier: "en_US"))
    private let own, anna, bert: ParticipantID
    private let conversation: ConversationID

    init() throws {
        own = try #require(ParticipantID(rawValue: "own"))
        anna = try #require(ParticipantID(rawValue: "anna"))
        bert = try #require(ParticipantID(rawValue: "bert"))
        conversation = try #require(ConversationID(rawValue: "c1"))
    }

    private func model(
        limits: RetentionLimits = RetentionLimits(), gates: [String: CallGate] = [:],
        _ change: (inout ScriptedRetention.Script) -> Void = { _ in }
    ) -> (RetentionSettingsModel, ScriptedRetention) {
        var script = ScriptedRetention.Script()
        change(&script)
        let retention = ScriptedRetention(script, of: own, limits: limits, gates: gates)
        let model = RetentionSettingsModel(
            controlling: retention, conversation: conversation, send: { try await retention.send($0) })
        return (model, retention)
    }

    private func question(_ model: RetentionSettingsModel) -> String? { english.text(of: model.state.task) }

    // MARK: What is shown

    @Test func `shows what each wants, this user first, and that they disagree`() async throws {
        let (model, _) = model {
            $0.own = .oneDay
            $0.peers = [bert: .oneHour, anna: .oneDay]
            $0.effective = .oneHour
        }
        #expect(model.state.agreement == nil)
        await model.refresh()
        let texts = model.state.participants.map { english.text(of: $0, name: $0.id.rawValue.capitalized) }
        #expect(texts == ["You: 1 day", "Anna: 1 day", "Bert: 1 hour"])
        let agreement = try #require(model.state.agreement)
        #expect(english.notes(on: agreement) == ["What holds for new messages: 1 hour", "Not all want the same."])
    }

    @Test func `shows who has not confirmed, which is no disagreement`() async throws {
        let (model, retention) = model {
            $0.peers = [anna: nil, bert: .keep]
        }
        await model.refresh()
        var agreement = try #require(model.state.agreement)
        #expect(
            model.state.participants.map { english.text(of: $0, name: "X") } == [
                "You: For ever", "X: not confirmed", "X: For ever",
            ])
        #expect(
            english.notes(on: agreement) == [
                "What holds for new messages: For ever", "1 participant has not confirmed yet.",
            ])
        #expect(agreement.unconfirmed == [anna])
        #expect(!agreement.isDisagreement)

        let both: [ParticipantID: MessageRetentionPolicy?] = [anna: nil, bert: nil]
        retention.change { $0.peers = both }
        await model.refresh()
        agreement = try #require(model.state.agreement)
        #expect(english.notes(on: agreement).last == "2 participants have not confirmed yet.")
    }

    @Test func `offers the presets, and what the user has now`() async throws {
        let (model, retention) = model { $0.own = .oneDay }
        #expect(model.state.choices.isEmpty)
        await model.refresh()
        #expect(
            model.state.choices.map(english.text(of:)) == ["Not stored", "1 hour", "1 day", "1 week", "For ever"])
        #expect(model.state.selection == .oneDay)
        let other = try #require(MessageRetentionPolicy(afterSent: .seconds(7200)))
        retention.change { $0.own = other }
        await model.refresh()
        #expect(
            model.state.choices.map(english.text(of:)) == [
                "Not stored", "1 hour", "2 hours", "1 day", "1 week", "For ever",
            ])
    }

    @Test func `offers nothing that is kept longer than this device allows`() async {
        let (model, _) = model(limits: RetentionLimits(maximum: .seconds(3 * 86_400))) { $0.own = .oneHour }
        await model.refresh()
        #expect(model.state.choices.map(english.text(of:)) == ["Not stored", "1 hour", "1 day", "3 days"])
    }

    @Test func `counts messages that were over when they arrived, and says what was lost`() async {
        let (model, _) = model {
            $0.arrivedExpired = 3
            $0.losses = [.vault]
        }
        await model.refresh()
        #expect(english.arrivedExpired(model.state.arrivedExpiredCount) == "3 messages were over before they arrived.")
        #expect(model.state.losses == [.vault])
    }

    @Test func `keeps what it shows when reading fails, and says why`() async {
        let (model, retention) = model { $0.own = .oneWeek }
        await model.refresh()
        retention.change { $0.failure = CloakroomError(.storeFailed, "the messages cannot be read") }
        await model.refresh()
        #expect(model.state.selection == .oneWeek)
        #expect(model.state.failure.map(english.failure) == "A file on this device could not be read or written")
        retention.change { $0.failure = nil }
        await model.refresh()
        #expect(model.state.failure == nil)
    }

    // MARK: Changes

    @Test func `changes nothing before the user has seen what that removes`() async {
        let (model, retention) = model { $0.impact = 12 }
        await model.apply(to: .history)
        await model.choose(.oneHour)
        #expect(
            question(model)
                == "New messages: 1 hour. If messages that are here follow, 12 messages are removed at once.")
        #expect(model.state.selection == .oneHour)
        #expect(model.state.agreement?.own == .keep)
        model.dismissTask()
        #expect(model.state.selection == .keep)
        await model.apply(to: .newMessages)
        #expect(!retention.calls.contains { $0.hasPrefix("update") })
    }

    @Test(arguments: [HistoryScope.newMessages, .history])
    func `changes the policy for the messages that the user chose, and sends it`(scope: HistoryScope) async {
        let (model, retention) = model { $0.impact = 1 }
        await model.choose(.oneDay)
        #expect(question(model)?.hasSuffix("1 message is removed at once.") == true)
        await model.apply(to: scope)
        #expect(retention.calls.filter { $0.hasPrefix("update") } == ["update \(scope)"])
        #expect(retention.sent.map(\.policy) == [.oneDay])
        #expect(model.state.agreement?.own == .oneDay)
        #expect(model.state.task == .none)
        #expect(!model.state.isUnsent)
    }

    @Test func `does not reach back with a policy that has no limit`() async {
        let (model, retention) = model { $0.own = .oneDay }
        await model.choose(.keep)
        #expect(question(model) == "New messages: For ever.")
        await model.apply(to: .history)
        #expect(retention.sent.isEmpty)
        await model.apply(to: .newMessages)
        #expect(retention.sent.map(\.policy) == [.keep])
    }

    @Test func `asks again when more messages would be removed than the user has seen`() async {
        let (model, retention) = model { $0.impact = 2 }
        await model.choose(.oneHour)
        retention.change { $0.impact = 3 }
        await model.apply(to: .history)
        #expect(model.state.task == .confirmChange(RetentionChange(to: .oneHour, endingCount: 3)))
        #expect(!retention.calls.contains { $0.hasPrefix("update") })
        await model.apply(to: .history)
        #expect(retention.calls.contains("update history"))
    }

    @Test func `shows the old policy when the new one could not be kept`() async {
        let (model, retention) = model { $0.own = .oneDay }
        await model.choose(.oneHour)
        let full = CloakroomError(.diskFull, "no space is left")
        retention.change { $0.failure = full }
        await model.apply(to: .newMessages)
        #expect(model.state.task == .none)
        #expect(model.state.failure == full)
        #expect(model.state.selection == .oneDay)
        #expect(!model.state.isUnsent)
        #expect(retention.sent.isEmpty)
    }

    @Test func `says that the others do not know of a change until it was sent`() async {
        let gate = CallGate()
        let (model, retention) = model(gates: ["send": gate])
        await model.choose(.oneHour)
        let change = Task { await model.apply(to: .newMessages) }
        await gate.arrival()
        // The channel does not keep the user from anything.
        #expect(model.state.isUnsent)
        #expect(model.state.task == .none)
        #expect(model.state.agreement?.own == .oneHour)
        retention.change { $0.impact = 7 }
        await model.choose(.noStorage)
        #expect(model.state.task == .confirmChange(RetentionChange(to: .noStorage, endingCount: 7)))
        await gate.open()
        await change.value
        #expect(!model.state.isUnsent)
    }

    @Test func `an earlier message that arrives says nothing about a later change`() async {
        let gate = CallGate()
        let (model, retention) = model(gates: ["send": gate])
        await model.choose(.oneHour)
        let first = Task { await model.apply(to: .newMessages) }
        await gate.arrival()
        await model.choose(.oneDay)
        let second = Task { await model.apply(to: .newMessages) }
        await gate.letFirstPass(of: 2)
        await first.value
        #expect(model.state.isUnsent)
        await gate.open()
        await second.value
        #expect(!model.state.isUnsent)
        #expect(retention.sent.map(\.policy) == [.oneHour, .oneDay])
    }

    @Test func `keeps a change that could not be sent, and sends it again`() async {
        let (_, retention) = model()
        let isOffline = Mutex(true)
        let model = RetentionSettingsModel(controlling: retention, conversation: conversation) { message in
            if isOffline.withLock({ $0 }) { throw CloakroomError(.unreachable, "no network") }
            try await retention.send(message)
        }
        await model.choose(.oneDay)
        await model.apply(to: .newMessages)
        #expect(model.state.isUnsent)
        #expect(model.state.failure.map(english.failure) == "The others cannot be reached now")
        #expect(model.state.selection == .oneDay)
        await model.refresh()
        #expect(model.state.isUnsent)
        #expect(model.state.failure == nil)

        isOffline.withLock { $0 = false }
        await model.sendAgain()
        #expect(retention.sent.map(\.policy) == [.oneDay])
        #expect(!model.state.isUnsent)
    }

    @Test func `a policy chosen while the settings are read is not overwritten by what was read before`() async {
        let gate = CallGate()
        let (model, retention) = model(gates: ["arrivedExpired": gate])
        let states = model.states(buffering: .unbounded)
        let refresh = Task { await model.refresh() }
        await gate.arrival()
        let choice = Task {
            await model.choose(.oneHour)
            await model.apply(to: .newMessages)
        }
        // The reading after the count, then the one after the change.
        await gate.letLastPass(of: 2)
        await gate.letLastPass(of: 2)
        await choice.value
        await gate.open()
        await refresh.value
        retention.change { $0.arrivedExpired = 9 }
        await model.refresh()
        var seen: [MessageRetentionPolicy?] = []
        for await state in states {
            if seen.last != .some(state.agreement?.own) { seen.append(state.agreement?.own) }
            if state.arrivedExpiredCount == 9 { break }
        }
        #expect(seen == [nil, .keep, .oneHour])
    }

    @Test func `begins nothing while something is under way, and does not dismiss it`() async {
        let gate = CallGate()
        let (model, retention) = model(gates: ["impact": gate]) { $0.messageCount = 4 }
        let choice = Task { await model.choose(.oneHour) }
        await gate.arrival()
        await model.previewDeletion()
        model.dismissTask()
        #expect(model.state.task == .counting)
        await gate.open()
        await choice.value
        #expect(model.state.task == .confirmChange(RetentionChange(to: .oneHour, endingCount: 0)))
        #expect(!retention.calls.contains("messageCount"))
    }

    // MARK: Deleting

    @Test func `deletes nothing before the user has seen how many messages that are`() async {
        let (model, retention) = model()
        await model.deleteAll()
        await model.previewDeletion()
        #expect(question(model) == "No messages are here.")
        #expect(!model.state.task.canDelete)
        await model.deleteAll()
        retention.change { $0.messageCount = 2 }
        await model.previewDeletion()
        #expect(question(model) == "2 messages will be deleted from this device. The others keep theirs.")
        model.dismissTask()
        await model.deleteAll()
        #expect(!retention.calls.contains("deleteAll"))
    }

    @Test func `deletes all messages, and says what is left to be erased`() async {
        let (model, retention) = model {
            $0.messageCount = 2
            $0.report.isRotationPending = true
        }
        await model.previewDeletion()
        await model.deleteAll()
        #expect(retention.calls.filter { $0 == "deleteAll" } == ["deleteAll"])
        #expect(question(model) == "2 messages deleted. What is left of their keys is erased within minutes.")
        model.dismissTask()
        #expect(model.state.task == .none)
    }

    @Test func `says that a deletion was stopped, and why`() async {
        let (model, _) = model {
            $0.messageCount = 1
            $0.report.stoppedBy = CloakroomError(.diskFull, "no space is left")
        }
        await model.previewDeletion()
        await model.deleteAll()
        #expect(question(model) == "1 message deleted. Stopped: There is not enough room on this device.")
    }

    @Test func `asks again when more messages are here than the user has seen`() async {
        let (model, retention) = model { $0.messageCount = 2 }
        await model.previewDeletion()
        retention.change { $0.messageCount = 3 }
        await model.deleteAll()
        #expect(model.state.task == .confirmDeletion(messageCount: 3))
        #expect(!retention.calls.contains("deleteAll"))
        await model.deleteAll()
        #expect(retention.calls.contains("deleteAll"))
    }

    @Test func `ends what its readers read with itself`() async {
        var model: RetentionSettingsModel? = model().0
        let states = model?.states()
        model = nil
        var count = 0
        if let states { for await _ in states { count += 1 } }
        #expect(count == 1)
    }
}
