public import Foundation

/// A message that this user writes.
public struct OutgoingMessage: Sendable {
    public var id: MessageID
    public var conversation: ConversationID
    public var body: Data
    /// Their bytes follow with ``MessageRetention/keepAttachment(_:at:of:)-(Data,_,_)``, and the keys of objects that are
    /// uploaded afterwards with ``MessageRetention/setAttachment(assetKey:releaseToken:at:of:)``.
    public var attachments: [MessageAttachment]
    /// The message that this one quotes: it ends no later than that one. It is of the same conversation.
    public var quotes: MessageReference?
    /// Of the relay that all participants receive through, when it is known already; `nil` without one.
    public var relayTime: Date?

    public init(
        id: MessageID, in conversation: ConversationID, body: Data, attachments: [MessageAttachment] = [],
        quotes: MessageReference? = nil, relayTime: Date? = nil
    ) {
        self.id = id
        self.conversation = conversation
        self.body = body
        self.attachments = attachments
        self.quotes = quotes
        self.relayTime = relayTime
    }
}
