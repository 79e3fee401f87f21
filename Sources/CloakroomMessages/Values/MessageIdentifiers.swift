import CloakroomJSON

/// A participant of a conversation, by the app's own name: one user with all their devices.
public struct ParticipantID: RawRepresentable, Sendable, Hashable, Codable, Comparable {
    /// 1 to 128 bytes of UTF-8, without control characters.
    public let rawValue: String

    public init?(rawValue: String) {
        guard MessageIdentifiers.isValid(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// By its bytes, as it is stored and sent: Swift calls texts equal that Unicode writes in two ways.
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasSameBytes(as: right.rawValue) }

    public func hash(into hasher: inout Hasher) { MessageIdentifiers.hash(rawValue, into: &hasher) }

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

    /// By its bytes, as it is stored and sent: Swift calls texts equal that Unicode writes in two ways.
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasSameBytes(as: right.rawValue) }

    public func hash(into hasher: inout Hasher) { MessageIdentifiers.hash(rawValue, into: &hasher) }
}

/// A message, by its author's own name for it, such as a UUID: the same name of another author is another message.
public struct MessageID: RawRepresentable, Sendable, Hashable, Codable {
    /// 1 to 128 bytes of UTF-8, without control characters.
    public let rawValue: String

    public init?(rawValue: String) {
        guard MessageIdentifiers.isValid(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// By its bytes, as it is stored and sent: Swift calls texts equal that Unicode writes in two ways.
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasSameBytes(as: right.rawValue) }

    public func hash(into hasher: inout Hasher) { MessageIdentifiers.hash(rawValue, into: &hasher) }
}

/// Which message: its author's name for it, in a conversation.
///
/// The author is as the channel has authenticated them, so that no participant can give a message another one's name.
public struct MessageReference: Sendable, Hashable {
    public let id: MessageID
    public let author: ParticipantID
    public let conversation: ConversationID

    public init(_ id: MessageID, by author: ParticipantID, in conversation: ConversationID) {
        self.id = id
        self.author = author
        self.conversation = conversation
    }
}

/// What the three kinds have in common.
enum MessageIdentifiers {
    static func isValid(_ text: String) -> Bool {
        // The general category Cc, which no later version of Unicode changes.
        (1...128).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { !(0..<0x20).contains($0.value) && !(0x7F..<0xA0).contains($0.value) }
    }

    static func hash(_ text: String, into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // So that two names after each other are not one.
        hasher.combine(0xFF as UInt8)
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
