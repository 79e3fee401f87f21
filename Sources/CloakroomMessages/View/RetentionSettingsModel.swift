public import CloakroomKit
import Foundation

#if canImport(Combine)
    public import Combine
#endif

/// The state of a conversation's retention settings: how long messages are kept, what each participant wants, what a
/// change would remove, deleting everything.
///
/// It is an `ObservableObject` where there is Combine, since `@Observable` would need iOS 17 and macOS 14; anywhere else,
/// and in UIKit, read ``states(buffering:)``. Nothing is changed or deleted before the user has seen how many messages
/// that removes.
@MainActor
public final class RetentionSettingsModel {
    public struct State: Sendable, Equatable {
        /// What each wants, and what holds; `nil` until it was read once.
        public internal(set) var agreement: RetentionAgreement?
        /// This user first.
        public internal(set) var participants: [ParticipantPolicy] = []
        /// For a picker: presets within the device's limits, and what the user has now. The shortest first.
        public internal(set) var choices: [MessageRetentionPolicy] = []
        /// Messages that were over when they arrived, so that none was shown.
        public internal(set) var arrivedExpiredCount = 0
        /// What was lost when the storage was opened; empty mostly.
        public internal(set) var losses: Set<SQLiteMessageStorage.Loss> = []
        public internal(set) var task = RetentionTask.none
        /// A change is made here, and not sent yet. The next connect sends it in any case.
        public internal(set) var isUnsent = false
        /// Why the last call failed.
        public internal(set) var failure: CloakroomError?

        /// What a picker shows: the policy that is about to be confirmed, else what the user has; `nil` until it was read.
        public var selection: MessageRetentionPolicy? {
            if case .confirmChange(let change) = task { change.policy } else { agreement?.own }
        }
    }

    #if canImport(Combine)
        @Published
    #endif
    public private(set) var state = State() { didSet { feed.send(state) } }

    public let conversation: ConversationID
    private let retention: any RetentionControlling
    private let sending: @Sendable (RetentionPolicyMessage) async throws -> Void
    private let feed = StateFeed<State>()
    /// By the user.
    private var changes = 0
    /// What the last change is to be sent as.
    private var unsent: RetentionPolicyMessage?
    /// Messages to participants that were begun; only the end of the last one says that they know everything.
    private var sends = 0

    /// - Parameter send: sends a control message to each participant over the app's encrypted channel; it returns once all
    ///   have it, and throws when not.
    public convenience init(
        retention: MessageRetention, conversation: ConversationID,
        send: @escaping @Sendable (RetentionPolicyMessage) async throws -> Void
    ) {
        self.init(controlling: retention, conversation: conversation, send: send)
    }

    init(
        controlling retention: any RetentionControlling, conversation: ConversationID,
        send: @escaping @Sendable (RetentionPolicyMessage) async throws -> Void
    ) {
        self.retention = retention
        self.conversation = conversation
        sending = send
    }

    /// The state now, and each one after it.
    public func states(
        buffering policy: AsyncStream<State>.Continuation.BufferingPolicy = .bufferingNewest(1)
    ) -> AsyncStream<State> {
        feed.states(from: state, buffering: policy)
    }

    /// Reads all that is shown: when the settings appear, and after a control message or a message has arrived.
    public func refresh() async {
        state.failure = nil
        await read()
    }

    // MARK: The policy

    /// Counts what another policy would remove: then the task is ``RetentionTask/confirmChange(_:)``. Nothing is changed.
    ///
    /// The present policy can be chosen, too, to have messages that are here end by it.
    public func choose(_ policy: MessageRetentionPolicy) async {
        await begin(.counting) { model in .confirmChange(try await model.change(to: policy)) }
    }

    /// Makes the change that the user has seen, and sends it; without ``RetentionTask/confirmChange(_:)`` nothing happens.
    ///
    /// When ``HistoryScope/history`` would remove more messages by now than the user has seen, the task is
    /// ``RetentionTask/confirmChange(_:)`` once more, with the new count.
    public func apply(to scope: HistoryScope) async {
        guard case .confirmChange(let shown) = state.task, shown.scopes.contains(scope) else { return }
        await begin(.changing) { model in
            if scope == .history {
                let change = try await model.change(to: shown.policy)
                guard change.endingCount <= shown.endingCount else { return .confirmChange(change) }
            }
            model.unsent = try await model.retention.updateRetentionPolicy(
                shown.policy, in: model.conversation, applyingTo: scope)
            model.changes += 1
            model.state.isUnsent = true
            return .none
        }
        // Not part of the task: a channel that is slow must not keep the user from another change.
        guard let message = unsent else { return }
        unsent = nil
        await send(message)
    }

    /// Sends what this user wants once more, after a failure.
    public func sendAgain() async {
        state.failure = nil
        do {
            await send(try await retention.controlMessage(in: conversation))
        } catch {
            state.failure = CloakroomError(of: error)
        }
    }

    private func change(to policy: MessageRetentionPolicy) async throws -> RetentionChange {
        RetentionChange(to: policy, endingCount: try await retention.impact(of: policy, in: conversation))
    }

    private func send(_ message: RetentionPolicyMessage) async {
        sends += 1
        let begun = sends
        do {
            try await sending(message)
            if begun == sends { state.isUnsent = false }
        } catch {
            state.failure = CloakroomError(of: error)
        }
    }

    // MARK: Deleting

    /// Counts what there is to delete: then the task is ``RetentionTask/confirmDeletion(messageCount:)``.
    public func previewDeletion() async {
        await begin(.counting) { model in
            .confirmDeletion(messageCount: try await model.retention.messageCount(in: model.conversation))
        }
    }

    /// Deletes all messages of the conversation from this device, once the user has seen how many they are; without
    /// ``RetentionTask/confirmDeletion(messageCount:)`` nothing happens.
    ///
    /// When more have arrived meanwhile, the task is ``RetentionTask/confirmDeletion(messageCount:)`` once more.
    public func deleteAll() async {
        guard case .confirmDeletion(let shown) = state.task, state.task.canDelete else { return }
        await begin(.deleting) { model in
            let count = try await model.retention.messageCount(in: model.conversation)
            guard count <= shown else { return .confirmDeletion(messageCount: count) }
            return .deleted(messageCount: count, try await model.retention.deleteAll(in: model.conversation))
        }
    }

    /// The user has decided against it, or has read what came of it. It stops nothing that is under way.
    public func dismissTask() {
        if !state.task.isUnderWay { state.task = .none }
    }

    // MARK: Reading

    private func read() async {
        var begun: Int
        repeat {
            begun = changes
            do {
                let agreement = try await retention.agreement(in: conversation)
                let count = try await retention.arrivedExpiredCount(in: conversation)
                let losses = await retention.losses()
                // What was read before the user's change is not what holds now.
                guard begun == changes else { continue }
                var next = state
                next.agreement = agreement
                next.participants = agreement.participants(besides: retention.participant)
                next.choices = MessageRetentionPolicy.choices(besides: agreement.own, limits: retention.limits)
                next.arrivedExpiredCount = count
                next.losses = losses
                state = next
            } catch {
                state.failure = CloakroomError(of: error)
            }
        } while begun != changes
    }

    /// Runs one task, unless another one is under way, and reads anew what it has changed. It goes on when the screen is
    /// left.
    private func begin(
        _ task: RetentionTask, _ work: @escaping @MainActor (RetentionSettingsModel) async throws -> RetentionTask
    ) async {
        guard !state.task.isUnderWay else { return }
        var next = state
        next.task = task
        next.failure = nil
        state = next
        await Task {
            do {
                state.task = try await work(self)
            } catch {
                state.task = .none
                state.failure = CloakroomError(of: error)
            }
        }.value
        await read()
    }
}

#if canImport(Combine)
    extension RetentionSettingsModel: ObservableObject {}
#endif
