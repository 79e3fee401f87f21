/// What the screens say, by keys to translate.
///
/// ``english`` stands where an app has no text of its own; `%1$@` and `%2$@` are replaced. Copy `allCases` into a
/// string catalog to begin a translation: see ``RetentionLanguage``.
public enum RetentionText: String, Sendable, CaseIterable {
    // Policies
    case policy = "retention.policy"
    case noStorage = "retention.policy.noStorage"
    case noStorageHint = "retention.policy.noStorage.hint"
    case seconds = "retention.policy.seconds"
    case minutes = "retention.policy.minutes"
    case hours = "retention.policy.hours"
    case days = "retention.policy.days"
    case weeks = "retention.policy.weeks"
    case keep = "retention.policy.keep"
    case imageHint = "retention.policy.images"

    // The agreement
    case effective = "retention.effective"
    case participants = "retention.participants"
    case participantPolicy = "retention.participants.policy"
    case thisUser = "retention.participants.this"
    case unconfirmed = "retention.participants.unconfirmed"
    case disagreement = "retention.disagreement"
    case unconfirmedCount = "retention.unconfirmed"
    case unsent = "retention.unsent"
    case sendAgain = "retention.unsent.again"
    case arrivedExpired = "retention.arrivedExpired"

    // Changes
    case messages = "retention.messages"
    case working = "retention.working"
    case changeNew = "retention.change.new"
    case changeHistory = "retention.change.history"
    case changeHistoryNothing = "retention.change.history.nothing"
    case applyToNew = "retention.change.new.apply"
    case applyToHistory = "retention.change.history.apply"
    case applyToHistoryHint = "retention.change.history.hint"
    case deleteAll = "retention.delete"
    case deleteHint = "retention.delete.hint"
    case deleteQuestion = "retention.delete.question"
    case deleteNothing = "retention.delete.nothing"
    case deleteConfirm = "retention.delete.confirm"
    case deleted = "retention.delete.done"
    case deletedPending = "retention.delete.pending"
    case stoppedBecause = "retention.stopped"
    case cancel = "retention.cancel"
    case done = "retention.done"

    // Losses and failures
    case lossOfVault = "retention.loss.vault"
    case lossOfDatabase = "retention.loss.database"
    case lossOfPolicies = "retention.loss.policies"
    case failureOffline = "retention.failure.offline"
    case failureNoRoom = "retention.failure.noRoom"
    case failureDevice = "retention.failure.device"
    case failureInUse = "retention.failure.inUse"
    case failureLocked = "retention.failure.locked"
    case failureKeys = "retention.failure.keys"
    case failureStopped = "retention.failure.stopped"
    case failureOther = "retention.failure.other"
}
