public import Foundation

/// An image that is kept for as long as it is renewed, and where the app keeps its URL.
///
/// A picture in a chat is none: see ``ChatImage``.
public enum RenewableAsset: Sendable, Hashable {
    /// The user's own picture in one conversation.
    case profileAvatar(url: URL, conversationID: String, inboxID: String)
    /// The picture of a group that the user is a member of.
    case groupImage(url: URL, conversationID: String)
    /// Any other image: see ``init(id:url:)``.
    case other(id: String, url: URL)

    /// An image of any other kind, such as the cover of an album.
    ///
    /// - Parameter id: the app's own name of the place where it keeps the URL, such as `album/17/cover`. It comes back
    ///   with the asset in every call of the kit, and in the journal of recoveries after a restart.
    public init(id: String, url: URL) { self = .other(id: id, url: url) }

    /// Where it can be read.
    public var url: URL {
        switch self {
        case .profileAvatar(let url, _, _), .groupImage(let url, _), .other(_, let url): url
        }
    }
}
