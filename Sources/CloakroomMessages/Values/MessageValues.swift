public import Foundation

/// What goes with each message over the app's channel: the policy that held when it was written, and its age when it
/// was sent.
public struct MessageStamp: Sendable, Hashable {
    /// The agreement's policy when the message was written.
    public var policy: MessageRetentionPolicy
    /// Between writing and sending, as when the device was offline.
    public var age: Duration

    public init(policy: MessageRetentionPolicy, age: Duration = .zero) {
        self.policy = policy
        self.age = age
    }
}

/// A message that has arrived, before it is shown or stored.
public struct IncomingMessage: Sendable {
    public var id: MessageID
    public var sender: AuthenticatedSender
    public var stamp: MessageStamp
    /// By the clock of the relay that all participants receive through; `nil` without one.
    public var relayTime: Date?
    public var body: Data
    public var attachments: [MessageAttachment]
    /// The message that this one quotes: it ends no later than that one. One of another conversation is left out.
    public var quotes: MessageReference?

    public init(
        id: MessageID, sender: AuthenticatedSender, stamp: MessageStamp, relayTime: Date? = nil, body: Data,
        attachments: [MessageAttachment] = [], quotes: MessageReference? = nil
    ) {
        self.id = id
        self.sender = sender
        self.stamp = stamp
        self.relayTime = relayTime
        self.body = body
        self.attachments = attachments
        self.quotes = quotes
    }

    /// What it is known by.
    public var reference: MessageReference {
        MessageReference(id, by: sender.participant, in: sender.conversation)
    }
}

/// An image, or another file, of a message.
public struct MessageAttachment: Sendable, Hashable {
    /// The object's key in the bucket; `nil` for a file that was never uploaded, or is not yet: see
    /// ``MessageRetention/setAttachment(assetKey:releaseToken:at:of:)``.
    public var assetKey: String?
    /// What lets this user delete the object (from the presigned upload); `nil` for images of others, whose messages are
    /// kept without one.
    public var releaseToken: String?
    /// Beside the database, sealed; `nil` when only the object exists.
    public var file: AttachmentFile?

    public init(assetKey: String?, releaseToken: String? = nil, file: AttachmentFile? = nil) {
        self.assetKey = assetKey
        self.releaseToken = releaseToken
        self.file = file
    }
}

/// A sealed file of the storage, by its random name.
public struct AttachmentFile: RawRepresentable, Sendable, Hashable {
    /// 32 lowercase hexadecimal digits.
    public let rawValue: String

    public init?(rawValue: String) {
        let digits = Set("0123456789abcdef".utf8)
        guard rawValue.utf8.count == 32, rawValue.utf8.allSatisfy(digits.contains) else { return nil }
        self.rawValue = rawValue
    }
}

/// What became of a message that arrived.
public enum Admission: Sendable, Hashable {
    /// Stored, or in memory where nothing is stored; `nil`: no end.
    case kept(until: Date?)
    /// It was over before it arrived: nothing of it is kept, and it is counted for the user.
    case arrivedExpired
    /// It was here before, or was purged: it is not shown again, and no notification is due.
    case replay
}

/// Which messages a change of the policy is for.
public enum HistoryScope: Sendable, Hashable {
    case newMessages
    /// Also those that are here: at this device all of them, at peers those that this user wrote.
    case history
}

/// What bounds the policies of a conversation on this device.
public struct RetentionLimits: Sendable, Hashable {
    /// A peer cannot make this device remove messages sooner than this; `nil`: no bound.
    public var minimumForPeers: Duration?
    /// Nothing is kept longer, whatever was agreed; `nil`: no bound.
    public var maximum: Duration?

    public init(minimumForPeers: Duration? = nil, maximum: Duration? = nil) {
        self.minimumForPeers = minimumForPeers
        self.maximum = maximum
    }
}

/// What the participants of a conversation want, and what holds.
public struct RetentionAgreement: Sendable, Hashable {
    public var own: MessageRetentionPolicy
    /// `nil`: this participant has not sent a policy, or one of a later version; it is unconfirmed.
    public var peers: [ParticipantID: MessageRetentionPolicy?]
    /// The strictest of all that were sent, within this device's limits.
    public var effective: MessageRetentionPolicy

    public init(
        own: MessageRetentionPolicy, peers: [ParticipantID: MessageRetentionPolicy?], effective: MessageRetentionPolicy
    ) {
        self.own = own
        self.peers = peers
        self.effective = effective
    }

    /// Whether each participant has sent a policy.
    public var isConfirmed: Bool { peers.values.allSatisfy { $0 != nil } }
    /// Whether all want the same.
    public var isUnanimous: Bool { isConfirmed && peers.values.allSatisfy { $0 == own } }
}
