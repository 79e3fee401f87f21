package import CloakroomKit
public import Foundation

/// A message that is here.
public struct StoredMessage: Sendable, Hashable {
    public let id: MessageID
    public let conversation: ConversationID
    public let author: ParticipantID
    /// By the clock of the relay or the server where one is known, else by this device's.
    public let sentAt: Date
    /// When it is removed, by the same clock; `nil`: never.
    public let expiration: Date?
    public let body: Data
    public let attachments: [MessageAttachment]
    /// The message that it quotes.
    public let quotes: MessageReference?
    /// `false`: it is in memory, until the conversation closes.
    public let isStored: Bool
    /// Where a page ends that ends with this message.
    public let cursor: MessageCursor

    /// What it is known by.
    public var reference: MessageReference { MessageReference(id, by: author, in: conversation) }
}

/// A place in a conversation, between two messages.
public struct MessageCursor: Sendable, Hashable, Codable, Comparable {
    let base: Int64
    let sequence: Int64

    public static func < (left: Self, right: Self) -> Bool {
        (left.base, left.sequence) < (right.base, right.sequence)
    }
}

/// Where messages are until they end. No call returns a message that is over.
///
/// One is in a file and one in memory: what is shown of a conversation is of both.
package protocol MessageStorage: Sendable {
    /// The newest messages before a place, the newest first.
    ///
    /// - Parameter times: what is due by them is not returned.
    func page(
        of conversation: ConversationID, before: MessageCursor?, limit: Int, hiding times: ClockTimes
    ) async throws(CloakroomError) -> [StoredMessage]

    func message(_ message: MessageReference, hiding times: ClockTimes) async throws(CloakroomError) -> StoredMessage?

    /// How many messages would be over by a policy that reaches back.
    func impact(
        of policy: MessageRetentionPolicy, in conversation: ConversationID, hiding times: ClockTimes
    ) async throws(CloakroomError) -> Int

    /// When the newest message was sent, by the clock that all share; `nil` when there is none.
    func newestBase(in conversation: ConversationID, _ clock: RetentionClock) async throws(CloakroomError)
        -> NewestBase?

    /// How long until the first message is over; `nil` when none has an end.
    func remaining(_ times: ClockTimes) async throws(CloakroomError) -> Milliseconds?
}

/// When the newest message of a conversation was sent, by the clock that all share.
package struct NewestBase: Sendable, Hashable {
    package var time: Milliseconds
    /// Whether that is known by the device's clock alone.
    package var isByDevice: Bool

    init(_ base: MessageBase, _ clock: RetentionClock) {
        time = clock.sharedTime(base)
        isByDevice = base.clock.isDevice
    }

    /// Of the same time, the one that is known better.
    static func later(_ left: Self?, _ right: Self?) -> Self? {
        guard let left, let right else { return left ?? right }
        if left.time == right.time { return left.isByDevice ? right : left }
        return left.time > right.time ? left : right
    }
}

/// What a message is, before it has its place.
package struct MessageDraft: Sendable {
    package var id: MessageID
    package var conversation: ConversationID
    package var author: ParticipantID
    package var stamp: MessageRetentionPolicy
    package var body: Data
    package var attachments: [MessageAttachment]
    package var quotes: MessageReference?

    package var reference: MessageReference { MessageReference(id, by: author, in: conversation) }
}

/// A message as both storages have it.
struct MessageRecord: Sendable {
    var sequence: Int64
    var draft: MessageDraft
    var base: MessageBase
    var ownPolicy: MessageRetentionPolicy
    var term: MessageTerm

    var cursor: MessageCursor { MessageCursor(base: base.time, sequence: sequence) }

    /// For the conversation's cuts.
    func inputs(_ clock: RetentionClock) -> TermInputs {
        TermInputs(
            author: draft.author, base: base, sharedBase: clock.sharedTime(base), stamp: draft.stamp,
            ownPolicy: ownPolicy)
    }

    var stored: StoredMessage {
        StoredMessage(
            id: draft.id, conversation: draft.conversation, author: draft.author, sentAt: base.time.date,
            expiration: term.local?.date, body: draft.body, attachments: draft.attachments, quotes: draft.quotes,
            isStored: term.isStored, cursor: cursor)
    }
}
