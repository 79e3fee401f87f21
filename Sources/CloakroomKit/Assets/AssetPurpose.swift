import CloakroomWire

/// What an object is uploaded for, where that decides its place and its end.
public enum AssetPurpose: Sendable, Hashable {
    /// An image of a chat: it is never renewed, and can be released. Its address tells that it is one.
    case chat

    var wire: UploadPurpose {
        switch self {
        case .chat: .chat
        }
    }
}

extension CloakroomError {
    /// The response of a worker that does not know purposes.
    static let noReleaseToken = CloakroomError(
        .chatNotEnabled, "The worker gave no release token: it is older than images of chats", status: 200)
}
