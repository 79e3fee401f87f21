public import Foundation

/// An image that is kept for as long as it is renewed, and where the app keeps its URL.
///
/// A picture in a chat is none: see ``ChatImage``.
public enum RenewableAsset: Sendable, Hashable {
    /// The user's own picture in one conversation.
    case profileAvatar(url: URL, conversationID: String, inboxID: String)
    /// The picture of a group that the user is a member of.
    case groupImage(url: URL, conversationID: String)

    /// Where it can be read.
    public var url: URL {
        switch self {
        case .profileAvatar(let url, _, _), .groupImage(let url, _): url
        }
    }
}
