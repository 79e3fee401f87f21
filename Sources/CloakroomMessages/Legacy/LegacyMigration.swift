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
        /// Messages that are not over.
        public let messageCount: Int
        /// Messages that are over: they go with the file.
        public let endedCount: Int
        /// Control messages of the older app among the texts: they go with the file, and are no messages.
        public let controlCount: Int

        let session: LegacySession
        let sha256: [UInt8]
    }

    public internal(set) var files: [File] = []
    /// What stays as it is.
    public internal(set) var left: [LegacyFileLeft] = []
    /// Files of an earlier migration that are still to be erased: their messages are stored.
    public internal(set) var unfinished: [String] = []

    let source: LegacyMessageFiles

    /// Messages that are not over. Where an earlier migration was ended, those that it has moved are counted once more.
    public var messageCount: Int { files.reduce(0) { $0 + $1.messageCount } }
    public var endedCount: Int { files.reduce(0) { $0 + $1.endedCount } }
}

/// What came of a migration, also when it ended early: another one continues.
public struct MessageMigrationReport: Sendable, Equatable {
    /// Messages that are stored now.
    public internal(set) var importedCount = 0
    /// Messages that an earlier migration had moved.
    public internal(set) var knownCount = 0
    /// Messages that were over, and are gone.
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
        /// It is no file with a name that ends in `.json`.
        case otherFile
        /// The app does not know the session.
        case unknownSession
        case unreadable(CloakroomError)
        /// It is not as the format says; `why` has nothing of its content but names of members.
        case damaged(why: String)
        /// The session's policy, this user's or the limits say that nothing is stored: its messages would be in memory
        /// only. Set the policy first, with ``MessageRetention/updateRetentionPolicy(_:in:applyingTo:)``.
        case nothingStored
        /// By this device's clock alone some of its messages are over, which is no reason to remove them: those that
        /// are not over are stored, and the file goes when the server's time is known.
        case timeUncertain
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
