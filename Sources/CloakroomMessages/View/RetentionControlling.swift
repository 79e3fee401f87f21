import CloakroomKit

/// What the view model needs of ``MessageRetention``; its tests have another one.
protocol RetentionControlling: Sendable {
    var participant: ParticipantID { get }
    var limits: RetentionLimits { get }

    func agreement(in conversation: ConversationID) async throws -> RetentionAgreement
    func arrivedExpiredCount(in conversation: ConversationID) async throws -> Int
    func losses() async -> Set<SQLiteMessageStorage.Loss>
    func impact(of policy: MessageRetentionPolicy, in conversation: ConversationID) async throws -> Int
    func messageCount(in conversation: ConversationID) async throws -> Int
    func updateRetentionPolicy(
        _ policy: MessageRetentionPolicy, in conversation: ConversationID, applyingTo scope: HistoryScope
    ) async throws -> RetentionPolicyMessage
    func controlMessage(in conversation: ConversationID) async throws -> RetentionPolicyMessage
    func deleteAll(in conversation: ConversationID) async throws -> PurgeReport
}

extension MessageRetention: RetentionControlling {}
