public import Foundation

/// One photo or asset of an ``Outbox``.
public struct OutboxItem: Sendable, Equatable, Identifiable {
    /// Names an item for as long as it is in the outbox.
    public struct ID: RawRepresentable, Sendable, Hashable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public enum Kind: Sendable, Hashable {
        /// Goes to the key that its MD5 makes, 32 hexadecimal digits in lower case.
        case photo(md5: String)
        /// Goes where the worker says; `reference` is the app's own name for it.
        case asset(reference: String)
    }

    public enum State: Sendable, Equatable {
        /// It is sent when its turn comes: not before `until`, because of an error that is retried.
        case waiting(until: Date?, after: CloakroomError?)
        case sending(TransferProgress)
        /// It cannot succeed as it is; ``Outbox/retry(_:)`` or ``Outbox/remove(_:)`` decides.
        case failed(CloakroomError)
        /// An asset that S3 has; its bytes are kept until ``Outbox/acknowledge(_:)``.
        case uploaded(OutboxAsset)
    }

    public let id: ID
    public let kind: Kind
    public let byteCount: Int64
    public let priority: OutboxPriority
    public let addedAt: Date
    public let state: State
}

/// Which items go first; among equal ones, the oldest.
public enum OutboxPriority: Int, Sendable, Hashable, CaseIterable {
    case low = 0
    case normal = 1
    case high = 2
}

/// An asset that S3 has.
///
/// The description leaves out what is secret: ``releaseToken``, and where an image of a chat is.
public struct OutboxAsset: Sendable, Equatable {
    public let id: OutboxItem.ID
    /// The app's own name for it.
    public let reference: String
    public let objectKey: String
    /// Where it can be read.
    public let assetURL: URL
    /// What releases the object, for an image of a chat.
    public let releaseToken: String?
    /// When its upload was over at the latest, by the worker's clock: the end of the upload URL, some minutes after it.
    public let uploadedBefore: Date?
}

extension OutboxAsset: CustomStringConvertible, CustomReflectable {
    public var description: String { "asset \(reference)" + (isChatImage ? "" : " at \(assetURL)") }
    public var customMirror: Mirror {
        let place: KeyValuePairs<String, Any> = [
            "reference": reference, "objectKey": objectKey, "assetURL": assetURL,
        ]
        return isChatImage ? Mirror(self, children: ["reference": reference]) : Mirror(self, children: place)
    }

    private var isChatImage: Bool { releaseToken != nil }
}

/// What has not been sent yet: what waits, what is being sent, and what has failed.
public struct UnsentWork: Sendable, Equatable {
    public let items: Int
    public let bytes: Int64
    /// Those of ``items`` that are retried only when the app says so.
    public let failed: Int

    public var isEmpty: Bool { items == 0 }
}
