public import CloakroomKit
public import Foundation

/// The language of the screens: the app's translations, and English where it has none.
///
///     let language = RetentionLanguage { key, _ in
///         let text = Bundle.main.localizedString(forKey: key.rawValue, value: nil, table: "Retention")
///         return text == key.rawValue ? nil : text
///     }
public struct RetentionLanguage: Sendable {
    /// The app's text of a key; `nil`: the English one.
    ///
    /// - Parameter count: of what the text is about, for languages with more than one plural; `nil` for texts without.
    public typealias Translation = @Sendable (_ key: RetentionText, _ count: Int?) -> String?

    private let locale: Locale
    private let translation: Translation

    /// - Parameter locale: of numbers.
    public init(locale: Locale = .current, translation: @escaping Translation = { _, _ in nil }) {
        self.locale = locale
        self.translation = translation
    }

    /// - Parameter arguments: what `%1$@`, `%2$@` … of the text are replaced by.
    public func text(_ key: RetentionText, _ arguments: String..., count: Int? = nil) -> String {
        let text = translation(key, count) ?? (count == 1 ? key.englishForOne : nil) ?? key.english
        return TextTemplate(text).filled(with: arguments)
    }

    /// Such as "12 messages".
    public func messages(_ count: Int) -> String { counted(.messages, count) }

    /// Such as "1 hour", in the largest unit without a rest.
    public func text(of policy: MessageRetentionPolicy) -> String {
        guard let limit = policy.afterSent else { return text(.keep) }
        let seconds = Int(limit.components.seconds)
        guard seconds > 0 else { return text(.noStorage) }
        let units: [(key: RetentionText, seconds: Int)] = [
            (.weeks, 604_800), (.days, 86_400), (.hours, 3600), (.minutes, 60),
        ]
        guard let unit = units.first(where: { seconds % $0.seconds == 0 }) else { return counted(.seconds, seconds) }
        return counted(unit.key, seconds / unit.seconds)
    }

    /// What a policy means besides its duration; `nil` for most.
    ///
    /// - Parameter imageDays: after how many days the bucket removes images of messages (`uploads.chatRetentionDays` of the
    ///   worker); `nil` where it does not.
    public func hint(for policy: MessageRetentionPolicy, imageDays: Int?) -> String? {
        if policy == .noStorage { return text(.noStorageHint) }
        guard let imageDays, policy.afterSent.map({ $0 > .seconds(imageDays * 86_400) }) ?? true else { return nil }
        return counted(.imageHint, imageDays)
    }

    // MARK: The agreement

    /// Such as "Anna: 1 hour".
    ///
    /// - Parameter name: of the participant; this user's is not shown.
    public func text(of participant: ParticipantPolicy, name: String) -> String {
        text(
            .participantPolicy, participant.isThisUser ? text(.thisUser) : name,
            participant.policy.map { text(of: $0) } ?? text(.unconfirmed))
    }

    /// What is to be said of an agreement: what holds, that not all want the same, that some have not confirmed.
    public func notes(on agreement: RetentionAgreement) -> [String] {
        var notes = [text(.effective, text(of: agreement.effective))]
        if agreement.isDisagreement { notes.append(text(.disagreement)) }
        let unconfirmed = agreement.unconfirmed.count
        if unconfirmed > 0 { notes.append(counted(.unconfirmedCount, unconfirmed)) }
        return notes
    }

    /// How many messages were over when they arrived; `nil` for none.
    public func arrivedExpired(_ count: Int) -> String? {
        count > 0 ? text(.arrivedExpired, messages(count), count: count) : nil
    }

    // MARK: Tasks and failures

    /// What the settings say of a task: the question before it, and what came of it; `nil` for none.
    public func text(of task: RetentionTask) -> String? {
        switch task {
        case .none: nil
        case .counting, .changing, .deleting: text(.working)
        case .confirmChange(let change): question(change)
        case .confirmDeletion(let count):
            count > 0 ? text(.deleteQuestion, messages(count), count: count) : text(.deleteNothing)
        case .deleted(let count, let report): outcome(count, report)
        }
    }

    /// The button that applies a change.
    public func title(of scope: HistoryScope) -> String {
        text(scope == .history ? .applyToHistory : .applyToNew)
    }

    /// What a storage has lost.
    public func text(of loss: SQLiteMessageStorage.Loss) -> String {
        switch loss {
        case .vault: text(.lossOfVault)
        case .database: text(.lossOfDatabase)
        case .policies: text(.lossOfPolicies)
        }
    }

    /// Why something failed, for the user; ``CloakroomError/message`` is for the developer.
    public func failure(_ error: CloakroomError) -> String {
        let key: RetentionText =
            switch error.code {
            case .unreachable, .timedOut, .unavailable: .failureOffline
            case .diskFull: .failureNoRoom
            case .storeFailed, .unreadableFile, .unwritableFile: .failureDevice
            case .storeInUse: .failureInUse
            case .vaultLocked: .failureLocked
            case .vaultLost: .failureKeys
            case .cancelled: .failureStopped
            default: .failureOther
            }
        return text(key)
    }

    private func question(_ change: RetentionChange) -> String {
        let new = text(.changeNew, text(of: change.policy))
        guard change.scopes.contains(.history) else { return new }
        let count = change.endingCount
        let history = count > 0 ? text(.changeHistory, messages(count), count: count) : text(.changeHistoryNothing)
        return "\(new) \(history)"
    }

    private func outcome(_ count: Int, _ report: PurgeReport) -> String {
        let isPending = report.isRotationPending || report.isCheckpointPending
        let pending = isPending ? text(.deletedPending) : nil
        let stopped = report.stoppedBy.map { text(.stoppedBecause, failure($0)) }
        return [text(.deleted, messages(count), count: count), pending, stopped].compactMap { $0 }
            .joined(separator: " ")
    }

    private func counted(_ key: RetentionText, _ count: Int) -> String {
        text(key, count.formatted(IntegerFormatStyle<Int>(locale: locale)), count: count)
    }
}
