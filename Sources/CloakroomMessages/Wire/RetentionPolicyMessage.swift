import CloakroomJSON
import CloakroomKit
public import Foundation

/// A control message: what one participant wants, with all that it reaches back to.
///
/// It has the whole of it, so it can be sent again at each connect, arrive twice, or late. Send ``data`` over the app's
/// encrypted channel, and nowhere else.
public struct RetentionPolicyMessage: Sendable, Hashable {
    /// The largest one, in bytes.
    public static let maximumSize = 4096

    public let conversation: ConversationID
    public let author: ParticipantID
    /// As it is sent, JSON.
    public let data: Data
    /// `nil`: of a later version of the protocol.
    package let register: RetentionRegister?

    /// What the author wants; `nil` when the message is of a later version of the protocol, which only says that the
    /// author has changed something.
    public var policy: MessageRetentionPolicy? { register?.policy }

    /// A participant's own.
    package init(_ register: RetentionRegister, of author: ParticipantID, in conversation: ConversationID) {
        self.init(
            register, of: author, in: conversation, data: Self.encoded(register, of: author, in: conversation))
    }

    init(_ register: RetentionRegister?, of author: ParticipantID, in conversation: ConversationID, data: Data) {
        self.conversation = conversation
        self.author = author
        self.data = data
        self.register = register
    }

    /// Reads what has arrived.
    ///
    /// It also reads the message `{"type":"retention_policy_sync",…}` of apps that came before this library. Members
    /// that are not known are left out.
    ///
    /// - Parameter sender: from the channel. The message must be of the same participant and conversation.
    /// - Returns: `nil` when this is no control message, such as text of a user.
    /// - Throws: ``CloakroomError/Code/invalidControlMessage``: it is one, but breaks a rule. Drop it, and do not show
    ///   it.
    public static func decoded(_ data: Data, from sender: AuthenticatedSender) throws -> Self? {
        try ControlMessageDecoder(data: data, sender: sender).message()
    }

    /// What is joined to the state, once more checked.
    ///
    /// - Parameter trusted: the certain time, by the clock that all share.
    /// - Returns: `nil` for a message of a later version.
    /// - Throws: ``CloakroomError/Code/invalidControlMessage`` when the message is of another author or conversation
    ///   than the sender's, or reaches more than 24 hours into the future.
    package func register(from sender: AuthenticatedSender, at trusted: Milliseconds) throws -> RetentionRegister? {
        guard author == sender.participant, conversation == sender.conversation else {
            throw CloakroomError(.invalidControlMessage, "the message is of another author or conversation")
        }
        guard let register else { return nil }
        guard register.cuts.latest <= trusted.plus(.day) else {
            throw CloakroomError(.invalidControlMessage, "the message reaches into the future")
        }
        return register
    }

    private static func encoded(
        _ register: RetentionRegister, of author: ParticipantID, in conversation: ConversationID
    ) -> Data {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("v")
        writer.integer(1)
        writer.name("kind")
        writer.string("retention")
        writer.name("conversation")
        writer.string(conversation.rawValue)
        writer.name("author")
        writer.string(author.rawValue)
        writer.name("version")
        writer.integer(Int(register.version.number))
        writer.name("policy")
        writer.beginObject()
        writer.limit(of: register.policy)
        writer.endObject()
        writer.name("cuts")
        writer.beginArray()
        for cut in register.cuts.all {
            writer.beginObject()
            writer.name("beforeMilliseconds")
            writer.integer(Int(cut.before))
            writer.name("afterSentSeconds")
            writer.integer(Int(cut.seconds))
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return Data(writer.bytes)
    }
}

extension JSONWriter {
    /// The member `afterSentSeconds`; `null` for no limit.
    mutating func limit(of policy: MessageRetentionPolicy) {
        name("afterSentSeconds")
        if let limit = policy.afterSent { integer(Int(limit.components.seconds)) } else { null() }
    }
}
