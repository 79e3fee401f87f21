/// A participant of a conversation, by the app's own name: one user with all their devices.
public struct ParticipantID: RawRepresentable, Sendable, Hashable, Codable, Comparable {
    /// 1 to 128 bytes of UTF-8, without control characters.
    public let rawValue: String

    public init?(rawValue: String) {
        guard MessageIdentifiers.isValid(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }
}

/// A conversation, by the app's own name; all its participants use the same.
public struct ConversationID: RawRepresentable, Sendable, Hashable, Codable {
    /// 1 to 128 bytes of UTF-8, without control characters.
    public let rawValue: String

    public init?(rawValue: String) {
        guard MessageIdentifiers.isValid(rawValue) else { return nil }
        self.rawValue = rawValue
    }
}

/// A message, by a name that no other message has: made by its author, such as a UUID.
public struct MessageID: RawRepresentable, Sendable, Hashable, Codable {
    /// 1 to 128 bytes of UTF-8, without control characters.
    public let rawValue: String

    public init?(rawValue: String) {
        guard MessageIdentifiers.isValid(rawValue) else { return nil }
        self.rawValue = rawValue
    }
}

/// What the three kinds have in common.
enum MessageIdentifiers {
    static func isValid(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}

/// Who sent something, as the app's encrypted channel has authenticated them.
///
/// Make it from what the channel says, never from what the message says.
public struct AuthenticatedSender: Sendable, Hashable {
    public let participant: ParticipantID
    public let conversation: ConversationID

    public init(_ participant: ParticipantID, in conversation: ConversationID) {
        self.participant = participant
        self.conversation = conversation
    }
}
