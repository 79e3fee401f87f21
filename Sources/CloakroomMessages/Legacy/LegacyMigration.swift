public import CloakroomKit
import Foundation

/// What a migration would do, counted without changing anything.
///
/// ``MessageRetention/migrate(_:)`` does no more than that.
public struct MessageMigrationPreview: Sendable {
    /// A file whose messages can be moved.
    public struct File: Sendable, Equatable {
        /// In the folder.
        public let name: String
        public let conversation: ConversationID
        /// Messages that would be stored.
        public let messageCount: Int
        /// Messages that are stored already, as by an earlier migration that ended early.
        public let knownCount: Int
        /// Messages that are over, or were here and are not any more: they go with the file.
        public let endedCount: Int
        /// Control messages of the older app among the texts: they go with the file, and are no messages.
        public let controlCount: Int

        let session: LegacySession
        let sha256: [UInt8]
        /// Of its messages, in their order: what has ended since then does not go with it.
        let fates: [LegacyFate]
    }

    public internal(set) var files: [File] = []
    /// What stays as it is.
    public internal(set) var left: [LegacyFileLeft] = []
    /// Files of an earlier migration that are still to be erased: their messages are stored.
    public internal(set) var unfinished: [String] = []

    let source: LegacyMessageFiles

    /// Messages that would be stored.
    public var messageCount: Int { files.reduce(0) { $0 + $1.messageCount } }
    public var endedCount: Int { files.reduce(0) { $0 + $1.endedCount } }
}

/// What came of a migration, also when it ended early: another one continues.
public struct MessageMigrationReport: Sendable, Equatable {
    /// Messages that are stored now.
    public internal(set) var importedCount = 0
    /// Messages that were stored before.
    public internal(set) var knownCount = 0
    /// Messages that were over, and are gone with their files: no more than the preview has counted.
    public internal(set) var endedCount = 0
    public internal(set) var controlCount = 0
    public internal(set) var erasedFileCount = 0
    /// What stays as it was, also from the preview.
    public internal(set) var left: [LegacyFileLeft] = []
    /// Why it ended before the last file; `nil` when it came to the end.
    public internal(set) var stoppedBy: CloakroomError?
}

/// A file, or a folder, that a migration leaves as it is.
public struct LegacyFileLeft: Sendable, Equatable {
    public enum Reason: Sendable, Equatable {
        /// It is a folder, a link or a file with a second name, or its name does not end in `.json`.
        case otherFile
        /// The app does not know the session.
        case unknownSession
        case unreadable(CloakroomError)
        /// It is not as the format says; `why` has nothing of its content but names of members.
        case damaged(why: String)
        /// The session's policy, this user's or the limits say that nothing is stored: its messages would be in memory
        /// only. Set the policy first, with ``MessageRetention/updateRetentionPolicy(_:in:applyingTo:)``.
        case nothingStored
        /// Some of its messages have an end, and the server's time is not known: by this device's clock alone they would
        /// end too early or too late. It goes when the server has been heard, as with a ``MessageRetention`` that has a
        /// `client`.
        case timeUncertain
        /// A message is to end more than ``MessageRetentionPolicy/longest`` after it was sent, and no policy of the
        /// session ends it sooner: there is no policy that is that long. Set a ``LegacySession/policy`` if that is right.
        case endTooLate
        /// A message of it is stored already, or in another file of the conversation, with another content.
        case conflicting
        /// A message of it is here, but in memory only, or in a row that does not open: the file may be the last copy.
        case notStored
        /// Messages have ended since the preview, which did not count them among those that go: those that are not over
        /// are stored. Another preview counts anew.
        case endedSincePreview
        /// What has this name in the folder is not of a migration, which needs the name: move it elsewhere.
        case nameTaken(String)
        /// It was written to since the preview.
        case changed
    }

    public let name: String
    public let reason: Reason

    public init(name: String, reason: Reason) {
        self.name = name
        self.reason = reason
    }
}

/// Why a file stays.
struct LegacyFileFault: Error {
    let reason: LegacyFileLeft.Reason

    init(_ reason: LegacyFileLeft.Reason) { self.reason = reason }

    static func damaged(_ why: String) -> Self { Self(.damaged(why: why)) }
}

/// What becomes of a message of a file.
enum LegacyFate: UInt8, Sendable {
    case new
    /// Stored already.
    case known
    /// It is over, or was here and is not any more.
    case ended
    /// Of the older app's protocol, and no message.
    case control
}
