public import Foundation

/// Where an app kept messages before this library: a folder with a JSON file for each session, `NAME.json`.
///
/// ```swift
/// let files = LegacyMessageFiles(in: folder) { name in sessions[name] }
/// let preview = try await retention.preview(of: files)
/// let report = await retention.migrate(preview)
/// ```
public struct LegacyMessageFiles: Sendable {
    let folder: URL
    let format: LegacyMessageFormat
    let session: @Sendable (_ name: String) -> LegacySession?
    /// Called before and after each step that lasts; what it throws ends the migration there.
    package var step: @Sendable () throws -> Void = {}

    /// - Parameters:
    ///   - folder: which need not be there.
    ///   - session: the session of a file, by its name without `.json`; `nil` for one that the app does not know, whose
    ///     file stays.
    public init(
        in folder: URL, format: LegacyMessageFormat = LegacyMessageFormat(),
        session: @escaping @Sendable (_ name: String) -> LegacySession?
    ) {
        self.folder = folder
        self.format = format
        self.session = session
    }
}

/// Whose messages a file has, and how long they were to be kept.
public struct LegacySession: Sendable, Hashable {
    public var conversation: ConversationID
    /// Who wrote the messages that are not this user's.
    public var peer: ParticipantID
    /// What the user had chosen for the session; ``MessageRetentionPolicy/keep`` where only the messages know.
    public var policy: MessageRetentionPolicy

    public init(conversation: ConversationID, peer: ParticipantID, policy: MessageRetentionPolicy) {
        self.conversation = conversation
        self.peer = peer
        self.policy = policy
    }
}

/// How the older app wrote a message: an object, in an array, or in the array `messages` of an object.
public struct LegacyMessageFormat: Sendable {
    /// As a `JSONEncoder` writes dates.
    public enum Dates: Sendable {
        /// Seconds since 2001, unless the encoder was told otherwise.
        case sinceReferenceDate
        case since1970
        case millisecondsSince1970
        case iso8601
    }

    // Names of members.
    public var id = "id"
    public var text = "text"
    public var sentAt = "timestamp"
    /// Whether this user wrote it.
    public var isOwn = "isFromSelf"
    /// May be missing, or `null`: no end.
    public var expiration = "expiresAt"

    public var dates = Dates.sinceReferenceDate
    /// Other members, which need not be kept. A message with one that is not named here makes its file stay.
    public var ignored: Set<String> = []
    /// Members of a file beside the array `messages`, which need not be kept. A file with one that is not named here
    /// stays, unless it is `null`.
    public var ignoredInFile: Set<String> = []
    /// Makes the body of the new message from the whole JSON of the old one, its other members included; `nil`: the
    /// body is the text, in UTF-8. What it throws makes the file stay.
    ///
    /// The same message gives the same bytes each time, as of a `JSONEncoder` with `sortedKeys`: before a file is erased,
    /// they are compared with what is stored, and others are ``LegacyFileLeft/Reason/conflicting``.
    public var body: (@Sendable (_ message: Data) throws -> Data)?

    public init() {}
}
