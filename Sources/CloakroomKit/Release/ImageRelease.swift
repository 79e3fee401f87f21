public import Foundation

/// An image of a chat that is to be deleted before its time: its key, and what its upload was given for that.
///
/// The token is a secret of the uploader's: it goes into no message, and the description leaves it out.
public struct ImageRelease: Sendable, Hashable, Codable {
    public var objectKey: String
    public var releaseToken: String

    public init(objectKey: String, releaseToken: String) {
        self.objectKey = objectKey
        self.releaseToken = releaseToken
    }
}

extension ImageRelease: CustomStringConvertible, CustomReflectable {
    public var description: String { "release of \(objectKey)" }
    public var customMirror: Mirror { Mirror(self, children: ["objectKey": objectKey]) }
}

/// What became of one image of a release.
public struct ImageReleaseResult: Sendable, Equatable {
    public enum Outcome: Sendable, Equatable {
        /// It is gone, or was before, or will be by then at the latest: the bucket keeps its bytes until its rules end
        /// them. Copies in a CDN or on other devices are not the worker's.
        case released(bytesGoneBy: Date?)
        /// It will fail in the same way next time: the token is another key's or another user's. The bucket's rule ends
        /// the image.
        case refused(reason: String)
        /// Send it again: soon when the store was unavailable, later when the operator has to fix something.
        case failed(reason: String)
    }

    /// As it was sent.
    public var objectKey: String
    public var outcome: Outcome

    public init(objectKey: String, outcome: Outcome) {
        self.objectKey = objectKey
        self.outcome = outcome
    }
}

/// Releases images of chats: ``CloakroomClient``, or a test double.
public protocol ImageReleaser: Sendable {
    /// - Parameter images: 1…100.
    /// - Returns: what the server said of them; perhaps not of each.
    func release(_ images: [ImageRelease]) async throws -> [ImageReleaseResult]
}
